import { type ChildProcess, execFile, spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { describe, expect, it, type TestContext } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { makeKeys } from '../../src/keys.ts'
import { scripts } from '../../src/scripts.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

/** What PROTOCOL.md promises to programs without this package, shown with programs that have none of it. */
const server = useRedis()

const folder = fileURLToPath(new URL('../../examples/other-languages/', import.meta.url))
const succeeds = (command: string, ...args: string[]) => spawnSync(command, args).status === 0
const python = ['python3', 'python'].find(name =>
  succeeds(name, '-c', 'import sys; sys.exit(sys.version_info < (3, 9))'),
)
const redisCli = ['redis-cli', 'valkey-cli'].find(name => succeeds(name, '--version'))

/** How to run an example; a machine without its interpreter skips the test and says so. */
const commandFor = (file: string, context: TestContext): string[] => {
  const interpreter = file.endsWith('.py') ? python : redisCli && 'sh'
  if (interpreter) return [interpreter, `${folder}${file}`]
  const reason = `${file} was not run: there is no ${file.endsWith('.py') ? 'Python 3.9' : 'redis-cli'} on the PATH`
  console.log(reason)
  return context.skip(reason)
}

const environment = () => ({
  ...process.env,
  PSHUB_REDIS: server.url,
  PSHUB_NAMESPACE: server.namespace,
  REDIS_CLI: redisCli,
})

/** Starts an example worker and resolves once it said that it is ready; it is told to stop at the test's end. */
const startExample = async ([command, ...args]: string[]): Promise<{ stop(): Promise<void> }> => {
  const child: ChildProcess = spawn(command!, args, { env: environment(), stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = new Promise<void>(resolve => child.once('exit', () => resolve()))
  let stopped: Promise<void> | undefined
  const stop = () => {
    stopped ??= (async () => {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), 8000)
      await exited
      clearTimeout(timer)
    })()
    return stopped
  }
  server.onEnd(stop)
  await new Promise<void>((resolve, reject) => {
    child.stdout!.on('data', chunk => String(chunk).includes('ready') && resolve())
    exited.then(() => reject(new Error(`${args[0]} ended before it was ready`)))
  })
  return { stop }
}

const runExample = async ([command, ...args]: string[], ...more: string[]) => {
  const { stdout } = await promisify(execFile)(command!, [...args, ...more], { env: environment(), timeout: 15_000 })
  return stdout.trim()
}

const keys = (queue = 'q') => ({ ...makeKeys(server.namespace).queue(queue), reply: makeKeys(server.namespace).reply })

/** What a plain worker leaves behind: its task's card, and the last token of its bell, which nobody takes. */
const expectOnly = async (...allowed: string[]) => {
  const left = (await server.keys()).filter(key => !allowed.includes(key))
  expect(left).toEqual([])
}

const wordsOf = (text: string) => text.split(' ').length

describe('a Hub calls', () => {
  it('a worker in Python', async context => {
    const worker = await startExample(commandFor('worker.py', context))
    const hub = server.hub()
    expect(await hub.call('greet:1.0', { name: 'Zoë 💚\n"' })).toBe('Hello, Zoë 💚\n"!')
    const names = Array.from({ length: 50 }, (_, n) => `n${n}`)
    const answers = await Promise.all(names.map(name => hub.call('greet', { name })))
    expect(answers).toEqual(names.map(name => `Hello, ${name}!`))
    await expect(hub.call('greet:1.0', {})).rejects.toMatchObject({ code: 'InvalidArgs' })
    server.allowLeftovers()
    await worker.stop()
    await expect(server.hub().call('greet:1.0', { name: 'x' })).rejects.toMatchObject({ code: 'NoWorkers' })
    await hub.close()
    await expectOnly('tasks', '{python}:bell')
    expect(await server.redis.llen(keys('python').bell)).toBeLessThanOrEqual(1)
  })

  it('a worker in shell', async context => {
    const worker = await startExample(commandFor('worker.sh', context))
    const hub = server.hub()
    for (const text of ['one', 'one two  three', 'quotes " \' $HOME `date` \\', 'Ünï cödé 💚']) {
      const count = wordsOf(text.replace('  ', ' '))
      expect(await hub.call('count_words:1.0', { text }), text).toBe(count)
    }
    server.allowLeftovers()
    await worker.stop()
    await hub.close()
    await expectOnly('tasks', '{shell}:bell')
  })

  it('a worker in Python that shares its queue with a Worker', async context => {
    await startExample(commandFor('worker.py', context))
    const options = { queue: 'python', slots: 1 }
    await server.worker(
      [defineTask('greet:1.0', {}, () => new Promise(resolve => setTimeout(resolve, 100, 'node')))],
      options,
    )
    server.allowLeftovers()
    const hub = server.hub()
    const answers = await Promise.all(Array.from({ length: 20 }, () => hub.call('greet:1.0', { name: 'you' })))
    expect(new Set(answers)).toEqual(new Set(['node', 'Hello, you!']))
  })

  it('a failing worker in Python, and is told so', async context => {
    await startExample(commandFor('worker.py', context))
    server.allowLeftovers()
    // Without its schema the registry lets anything through, and the handler meets it.
    const card = JSON.parse((await server.redis.hget(`${server.namespace}:tasks`, 'greet:1.0'))!)
    await server.redis.hset(`${server.namespace}:tasks`, 'greet:1.0', JSON.stringify({ ...card, args: undefined }))
    await expect(server.hub().call('greet:1.0', {})).rejects.toMatchObject({ code: 'TaskFailed', ran: 'yes' })
  })
})

describe('a Worker answers', () => {
  const greet = defineTask('greet:1.0', {}, args => `Hello, ${(args as { name: string }).name}!`)

  it('a caller in Python', async context => {
    await server.worker([greet])
    const caller = commandFor('caller.py', context)
    expect(await runExample(caller, 'greet:1.0', '{"name": "Zoë 💚"}')).toBe('"Hello, Zoë 💚!"')
    expect(JSON.parse(await runExample(caller, 'greet:1.0', '{"name": [1]}'))).toBe('Hello, 1!')
    await expect(runExample(caller, 'nobody:1.0', '{}')).rejects.toThrow('no worker ever declared nobody:1.0')
  })

  it('a caller in shell', async context => {
    await server.worker([greet])
    const reply = await runExample(commandFor('caller.sh', context), 'greet:1.0', '{"name":"Zoë 💚"}')
    expect(JSON.parse(reply)).toMatchObject({ id: '1', ok: true, result: 'Hello, Zoë 💚!' })
  })

  it.for(['caller.py', 'caller.sh'])('%s within a moment, because it rings the bell', async (file, context) => {
    const caller = commandFor(file, context)
    await server.worker([greet])
    const monitor = await server.redis.duplicate().monitor()
    server.onEnd(() => monitor.disconnect())
    const { calls } = keys()
    const at: Record<string, number> = {}
    monitor.on('monitor', (time: string, [command, key]: string[]) => {
      if (key === calls && /^(rpush|lpop)$/i.test(command!)) at[command!.toUpperCase()] = Number(time)
    })
    // Three in a row: had the worker only looked every two seconds, not all of them could be in time.
    for (let round = 0; round < 3; round++) {
      await runExample(caller, 'greet:1.0', '{"name":"you"}')
      await eventually(() => at.LPOP! > at.RPUSH!)
      expect(at.LPOP! - at.RPUSH!).toBeLessThan(1)
    }
  })
})

describe('what is pushed by hand', () => {
  const answered = async (message: string, list: string) => {
    await server.redis.rpush(keys().calls, message)
    await server.redis.rpush(keys().bell, '1')
    await server.redis.ltrim(keys().bell, 0, 0)
    const popped = await server.redis.blpop(list, 5)
    return JSON.parse(popped![1])
  }

  it('wakes an idle worker at once', async () => {
    await server.worker([defineTask('echo:1.0', {}, args => args)])
    for (let n = 0; n < 5; n++) {
      const started = performance.now()
      const list = keys().reply(`hand-${n}`)
      const reply = await answered(`{"id":"i${n}","task":"echo:1.0","args":${n},"result_queue":"${list}"}`, list)
      expect(performance.now() - started).toBeLessThan(1000)
      expect(reply).toMatchObject({ id: `i${n}`, ok: true, result: n })
    }
  })

  it('runs once, whatever its fields and their order', async () => {
    const runs: unknown[] = []
    const echo = defineTask('echo:1.0', {}, args => {
      runs.push(args)
      return args
    })
    const worker = await server.worker([echo])
    const messages = [
      { result_queue: '', args: 1, task: 'echo:1.0', id: 'another-order' },
      { id: 'no-time', task: 'echo:1.0', args: 2, result_queue: '' },
      { ttl: 5000, id: 'ttl-alone', task: 'echo:1.0', args: 3, result_queue: '' },
      { at: Date.now() * 1000, ttl: 5000, id: 'spaced', task: 'echo:1.0', args: 4, result_queue: '' },
      { task: 'echo:1.0', args: 5, result_queue: '' },
      { id: 'unknown-fields', extra: [1], task: 'echo:1.0', args: 6, result_queue: '', key: {} },
      { id: 'no-args', task: 'echo:1.0', result_queue: '' },
    ]
    for (const [n, message] of messages.entries()) {
      const list = keys().reply(`hand-${n}`)
      const reply = await answered(JSON.stringify({ ...message, result_queue: list }, null, 2), list)
      expect(reply).toMatchObject({ ok: true, result: message.args ?? {} })
      if (message.id !== undefined) expect(reply.id).toBe(message.id)
    }
    await eventually(async () => (await server.redis.hlen(keys().held(worker.id))) === 0, 1000)
    // Long enough for the worker to look twice for what it holds without knowing of it.
    await new Promise(resolve => setTimeout(resolve, 2500))
    expect(runs).toEqual([1, 2, 3, 4, 5, 6, {}])
    expect((await server.keys()).filter(key => key.startsWith('reply'))).toEqual([])
  })

  it('is not started after its deadline, even where the scripts cannot see that', async () => {
    const runs: unknown[] = []
    const worker = await server.worker([defineTask('echo:1.0', {}, args => runs.push(args))])
    const late = '{"ttl":100,"id":"late","task":"echo:1.0","args":"late","at":1795220163659000}'
    await server.redis.rpush(keys().calls, late, '{"id":"last","task":"echo:1.0","args":"last"}')
    await eventually(() => runs.includes('last'))
    await eventually(async () => (await server.redis.hlen(keys().held(worker.id))) === 0)
    expect(runs).toEqual(['last'])
  })

  it('is dropped when it is not a request, and spoils nothing', async () => {
    const worker = await server.worker([defineTask('echo:1.0', {}, args => args)])
    const malformed: unknown[] = []
    worker.events.on('request:malformed', event => malformed.push(event.reason))
    const texts = ['', 'no JSON', '[]', '{}', '{"task":5}', '\u0000', '{"task":"echo:1.0","result_queue":"elsewhere"}']
    await server.redis.rpush(keys().calls, ...texts)
    expect(await server.hub().call('echo:1.0', 'fine')).toBe('fine')
    await eventually(() => malformed.length === texts.length)
    await eventually(async () => (await server.redis.hlen(keys().held(worker.id))) === 0)
    expect(await server.redis.exists('elsewhere')).toBe(0)
  })
})

describe('the bytes of a payload', () => {
  const args = '{"empty":[],"none":{},"big":9007199254740993,"exact":1.0,"exp":1E400,"text":"Zoë 💚\\u0000\\ud800 \\/"}'
  const body = `"id":"raw","task":"raw:1.0","args":${args},"result_queue":"t:reply:{h}"}`

  it('survive push, claim and hand-back', async () => {
    const { redis } = server
    const { calls, bell, pushed, held, leases } = keys()
    const [accepted, before, at] = (await scripts.push.run(
      redis,
      [calls, bell, pushed('h')],
      [1, 60_000, 100, `"ttl":5000,${body}`],
    )) as [number, number, string]
    expect([accepted, before]).toEqual([1, 0])
    const whole = `{"at":${at},"ttl":5000,${body}`
    expect(await redis.lrange(calls, 0, -1)).toEqual([whole])
    await scripts.beat.run(redis, [leases, keys().cancelled], ['w', 4000, 1, 60_000])
    const claim = () => scripts.claim.run(redis, [calls, bell, held('w'), leases], ['w', 1])
    expect(await claim()).toEqual([expect.stringMatching(/^\d{16}$/), 0, 0, [whole], [], []])
    expect(await redis.hgetall(held('w'))).toEqual({ raw: whole })
    expect(await scripts.handback.run(redis, [held('w'), calls, bell], ['tail', 'raw', ''])).toBe(1)
    expect(await claim()).toEqual([expect.anything(), 0, 0, [whole], [], []])
    expect(await scripts.leave.run(redis, [held('w'), calls, bell, leases], ['w'])).toBe(1)
    expect(await redis.lpop(calls)).toBe(whole)
    await redis.del(bell, pushed('h'))
  })

  it('are what a Hub sends and what it gets', async () => {
    const { redis, namespace } = server
    const { calls, leases } = keys()
    // The registry entries that PROTOCOL.md asks of a plain worker, and no more.
    await redis.hset(`${namespace}:tasks`, 'raw:1.0', JSON.stringify({ task: 'raw:1.0', queue: 'q', at: 1 }))
    await redis.hset(`${namespace}:workers`, 'w', JSON.stringify({ id: 'w', queue: 'q', tasks: { 'raw:1.0': '' } }))
    await redis.zadd(leases, Date.now() + 10_000, 'w')
    const value = { empty: [], none: {}, text: 'Zoë 💚 \u2028 \ud800 "\\', numbers: [0, -1.5e-7, 1e21] }
    const call = server.hub().call('raw:1.0', value)
    const raw = redis.duplicate()
    server.onEnd(() => raw.disconnect())
    const [, text] = (await raw.blpop(calls, 5))!
    const id = /^\{"at":\d{16},"ttl":\d+,"id":"([A-Za-z0-9_-]{22})","task":"raw:1\.0","args":/.exec(text)![1]!
    expect(text).toContain(`"args":${JSON.stringify(value)},"result_queue":"${namespace}:reply:{`)
    const { result_queue } = JSON.parse(text)
    await redis.rpush(result_queue, `{ "id": "${id}", "ok": true, "result": ${JSON.stringify(value)} }`)
    expect(await call).toEqual(value)
    await redis.del(leases, keys().bell)
  })
})

describe('a full caller made of scripts alone', () => {
  const push = (number: number, limit: number, ...messages: string[]) => {
    const { calls, bell, pushed } = keys()
    return scripts.push.run(server.redis, [calls, bell, pushed('h')], [number, 60_000, limit, ...messages])
  }
  const at = expect.stringMatching(/^\d{16}$/)
  const message = (id: string) => `"ttl":60000,"id":"${id}","task":"t:1.0"}`
  const waiting = async () => (await server.redis.lrange(keys().calls, 0, -1)).map(text => JSON.parse(text).id)

  it('pushes once, however often it repeats, and never beyond its limit', async () => {
    const first = await push(1, 3, message('a'), message('b'))
    expect(first).toEqual([2, 0, at, 0])
    expect(await push(1, 3, message('a'), message('b'))).toEqual([2, 2, (first as unknown[])[2], 1])
    expect(await push(2, 3, message('c'), message('d'))).toEqual([1, 2, at, 0])
    expect(await push(2, 9, message('c'), message('d'))).toEqual([1, 3, at, 1])
    expect(await push(3, 3, message('e'))).toEqual([0, 3, at, 0])
    expect(await waiting()).toEqual(['a', 'b', 'c'])
    expect(await server.redis.lrange(keys().bell, 0, -1)).toEqual(['1'])
    expect(await server.redis.pttl(keys().pushed('h'))).toBeGreaterThan(59_000)
    await server.redis.del(keys().calls, keys().bell, keys().pushed('h'))
  })

  it('is told by an error that nothing was enqueued', async () => {
    const { redis } = server
    await redis.config('SET', 'maxmemory', '1')
    await expect(push(1, 9, message('a'))).rejects.toThrow(/^OOM/)
    await redis.config('SET', 'maxmemory', '0')
    await redis.set(keys().bell, 'of another type')
    await expect(push(1, 9, message('a'))).rejects.toThrow(/^WRONGTYPE/)
    await redis.del(keys().bell)
    expect(await waiting()).toEqual([])
    expect(await push(1, 9, message('a'))).toEqual([1, 0, at, 0])
    await redis.del(keys().calls, keys().bell, keys().pushed('h'))
  })

  it('takes back what still waits, and has the worker told of what runs', async () => {
    const { redis } = server
    const { calls, cancelled, leases } = keys()
    const [, , stamp] = (await push(1, 9, message('a'), message('b'))) as string[]
    const cancel = (id: string, text: string) => scripts.cancel.run(redis, [calls, cancelled], [id, text, 60_000])
    expect(await cancel('a', `{"at":${stamp},${message('a')}`)).toBe(1)
    expect(await cancel('a', `{"at":${stamp},${message('a')}`)).toBe(0)
    expect(await cancel('b', '')).toBe(0)
    expect(await waiting()).toEqual(['b'])
    const beat = await scripts.beat.run(redis, [leases, cancelled], ['w', 4000, 1, 60_000])
    // The newest first, so that a flood of them hides no fresh one.
    expect(beat).toEqual([at, 1, ['b', 'a'], []])
    await redis.del(calls, cancelled, leases, keys().bell, keys().pushed('h'))
  })
})

describe('a full worker made of scripts alone', () => {
  it('is called by a Hub', async () => {
    const { redis, namespace } = server
    const { calls, bell, held, leases, cancelled, reply } = keys()
    const blocking = redis.duplicate()
    server.onEnd(() => blocking.disconnect())
    const beat = await scripts.beat.run(redis, [leases, cancelled], ['w', 4000, 1, 60_000])
    expect(beat).toEqual([expect.stringMatching(/^\d{16}$/), 1, [], []])
    await redis.hset(`${namespace}:tasks`, 'raw:1.0', JSON.stringify({ task: 'raw:1.0', queue: 'q', at: 1 }))
    await redis.hset(`${namespace}:workers`, 'w', JSON.stringify({ id: 'w', queue: 'q', tasks: { 'raw:1.0': '' } }))
    const rung = blocking.blpop(bell, 2)
    const claimed = scripts.claim.run(blocking, [calls, bell, held('w'), leases], ['w', 4])
    const failed = failure(server.hub().call('raw:1.0', { n: 1 }))
    expect(await rung).toEqual([bell, '1'])
    const [, left, dropped, [text], named] = (await claimed) as [string, number, number, string[], unknown[]]
    expect([left, dropped, named]).toEqual([0, 0, []])
    const { id, args, result_queue } = JSON.parse(text!)
    expect(args).toEqual({ n: 1 })
    expect(result_queue.startsWith(reply('').slice(0, -1))).toBe(true)
    const answer = JSON.stringify({ id, ok: false, error: { code: 'TaskFailed', message: 'no', retryable: true } })
    expect(await scripts.reply.run(redis, [result_queue], [60_000, answer])).toBe(1)
    await redis.hdel(held('w'), id)
    expect(await failed).toMatchObject({ code: 'TaskFailed', message: 'no', retryable: true })
    expect(await scripts.leave.run(redis, [held('w'), calls, bell, leases], ['w'])).toBe(0)
  })

  it('that dies is adopted from by a Worker: idempotent calls run again, others end as WorkerLost', async () => {
    const { redis, namespace } = server
    const { calls, bell, held, leases, cancelled } = keys()
    await scripts.beat.run(redis, [leases, cancelled], ['w', 60_000, 1, 60_000])
    const card = { id: 'w', queue: 'q', tasks: { 'again:1.0': '', 'once:1.0': '' } }
    await redis.hset(`${namespace}:workers`, 'w', JSON.stringify(card))
    for (const [task, idempotent] of Object.entries({ 'again:1.0': true, 'once:1.0': false })) {
      await redis.hset(
        `${namespace}:tasks`,
        task,
        JSON.stringify({ task, queue: 'q', idempotent, at: Date.now() / 1000 }),
      )
    }
    const hub = server.hub()
    const args = { empty: [], text: 'Zoë 💚 "losses":7}' }
    const again = hub.call('again:1.0', args, { timeoutMs: 10_000 })
    const once = failure(hub.call('once:1.0', args, { timeoutMs: 10_000 }))
    await eventually(async () => (await redis.llen(calls)) === 2)
    await scripts.claim.run(redis, [calls, bell, held('w'), leases], ['w', 4])
    expect(await redis.hlen(held('w'))).toBe(2)
    await redis.zadd(leases, 1, 'w')
    await server.worker([defineTask('again:1.0', { idempotent: true }, args => args)])
    expect(await again).toEqual(args)
    expect(await once).toMatchObject({ code: 'WorkerLost', ran: 'maybe' })
    expect(await redis.zscore(leases, 'w')).toBeNull()
    // A second death counts on: the payload's bytes stay, the count stands before the last brace.
    const text = (losses: number) =>
      `{"at":1,"ttl":0,"id":"v1","task":"again:1.0","args":{"losses":7,"big":[9007199254740993,1.0]},"losses":${losses}}`
    await redis.hset(held('v'), 'v1', text(1))
    await redis.zadd(leases, 1, 'v')
    const monitor = await redis.duplicate().monitor()
    server.onEnd(() => monitor.disconnect())
    const pushed: string[] = []
    monitor.on('monitor', (_: string, [command, key, value]: string[]) => {
      if (key === calls && /^lpush$/i.test(command!)) pushed.push(value!)
    })
    await eventually(() => pushed.length > 0)
    expect(pushed).toEqual([text(2)])
    await eventually(async () => (await redis.llen(calls)) === 0)
  })

  it('takes nothing without a lease', async () => {
    const { redis } = server
    const { calls, bell, held, leases, cancelled } = keys()
    await redis.rpush(calls, '{}')
    const claim = () => scripts.claim.run(redis, [calls, bell, held('w'), leases], ['w', 4])
    expect(await claim()).toEqual([expect.anything(), -1])
    const renew = () => scripts.beat.run(redis, [leases, cancelled], ['w', 4000, 0, 60_000])
    expect(await renew()).toEqual([expect.anything(), 0, [], []])
    await redis.zadd(leases, 0, 'w')
    expect(await renew()).toEqual([expect.anything(), 0, [], []])
    await redis.zadd(leases, 1, 'w')
    expect(await claim()).toEqual([expect.anything(), -1])
    expect(await renew()).toEqual([expect.anything(), 1, [], []])
    expect(await redis.llen(calls)).toBe(1)
    await redis.del(calls, leases)
  })
})

describe('the rights that PROTOCOL.md lists', () => {
  /** The two ACL lines of the document, for the test's own namespace. */
  const rights = () => {
    const text = readFileSync(new URL('../../PROTOCOL.md', import.meta.url), 'utf8')
    const lines = [...text.matchAll(/^ACL SETUSER (pshub-\w+) on >secret (.+)$/gm)]
    return new Map(lines.map(([, user, rules]) => [user!, rules!.replaceAll('pshub:', `${server.namespace}:`)]))
  }
  const login = async (user: string) => {
    const rules = rights().get(user)
    expect(rules, `PROTOCOL.md has no ACL line for ${user}`).toBeDefined()
    await server.redis.call('ACL', 'SETUSER', user, 'reset', 'on', '>secret', ...rules!.split(' '))
    return server.url.replace('//', `//${user}:secret@`)
  }

  it('are enough for a Hub and a Worker', async () => {
    const problems: unknown[] = []
    const echo = defineTask('echo:1.0', {}, args => args)
    const worker = await server.worker([echo], { redis: await login('pshub-worker') })
    const hub = server.hub({ redis: await login('pshub-caller') })
    worker.events.on('problem', problem => problems.push(problem))
    hub.events.on('problem', problem => problems.push(problem))
    expect(await server.redis.call('ACL', 'LOG')).toEqual([])
    expect(problems).toEqual([])
    expect(await hub.call('echo', 'x')).toBe('x')
    expect((await hub.overview()).queues).toMatchObject([{ queue: 'q', workers: 1 }])
    // Foreign work, a long result and a hand-back use the rest of the commands.
    expect(await hub.call('echo:1.0', 'x'.repeat(5000))).toHaveLength(5000)
    await server.redis.rpush(keys().calls, '{"at":1,"ttl":0,"id":"f","task":"foreign:1.0"}')
    // So does adopting from a worker that died.
    await server.redis.hset(keys().held('gone'), 'x', '{"at":1,"ttl":1,"id":"x","task":"echo:1.0"}')
    await server.redis.zadd(keys().leases, 1, 'gone')
    await eventually(async () => (await server.redis.zscore(keys().leases, 'gone')) === null)
    await eventually(() => worker.busy === 0)
    await server.redis.del(keys().calls)
    await worker.stop()
    await hub.close()
    expect(problems).toEqual([])
    await server.redis.del(keys().calls, keys().bell)
    const denied = (await server.redis.call('ACL', 'LOG')) as unknown[]
    expect(denied).toEqual([])
  })

  it('keep a caller from claiming and a worker from pushing calls of others', async () => {
    const caller = new Redis(await login('pshub-caller'))
    server.onEnd(() => caller.disconnect())
    const { calls, bell, held, leases } = keys()
    await expect(scripts.claim.run(caller, [calls, bell, held('w'), leases], ['w', 1])).rejects.toThrow(/NOPERM/)
    await expect(caller.hset(`${server.namespace}:tasks`, 'a', 'b')).rejects.toThrow(/NOPERM/)
    await server.redis.call('ACL', 'LOG', 'RESET')
  })
})
