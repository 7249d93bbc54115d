import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ConfigError, defineTask, type Task, type WorkerOptions } from '../../src/index.ts'
import { ensureBuild, root } from '../support/cli-fixture.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

/** Threads load what is built; so does this test, and the module of the tasks. */
const it_ = useRedis()
let library: typeof import('../../src/index.ts')
let all: Task[]
let folder: string
let files = 0

beforeAll(async () => {
  ensureBuild()
  library = await import(pathToFileURL(join(root, 'dist/index.js')).href)
  all = (await import(pathToFileURL(join(root, 'test/support/thread-tasks.mjs')).href)).all
  folder = mkdtempSync(join(tmpdir(), 'pshub-threads-'))
}, 120_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** The path of a file that is not there yet. */
const file = () => join(folder, String(files++))
const written = (path: string) => eventually(() => existsSync(path) && readFileSync(path, 'utf8'), 10_000)

const makeWorker = (options: Partial<WorkerOptions> = {}) => {
  const { url: redis, namespace } = it_
  const made = new library.Worker({
    redis,
    namespace,
    queue: 'q',
    slots: 8,
    logLevel: 'silent',
    tasks: all,
    ...options,
  })
  it_.onEnd(() => made.stop({ graceMs: 0 }))
  return made
}
const startWorker = async (options: Partial<WorkerOptions> = {}) => {
  const worker = makeWorker(options)
  await worker.start()
  return worker
}

interface Told {
  threadId: number
  runs: number
  [key: string]: unknown
}

describe('a handler in a thread', () => {
  it('is given the same context, and its result goes the same way', async () => {
    await startWorker()
    const hub = it_.hub({ name: 'shop' })
    const told = (await hub.call('tell:1.0', { n: 1 }, { timeoutMs: 14_000 })) as Told
    expect(told).toMatchObject({
      args: { n: 1 },
      task: 'tell:1.0',
      from: 'shop',
      attempt: 1,
      isMainThread: false,
      runs: 1,
    })
    expect(told.id).toMatch(/^[\w-]{10,}$/)
    expect(told.remainingMs).toBeGreaterThan(0)
    expect(told.remainingMs).toBeLessThanOrEqual(14_000)
    // The thread stays, and its module with it.
    expect(await hub.call('tell:1.0')).toMatchObject({ threadId: told.threadId, runs: 2 })
    const job = await hub.enqueue('tell:1.0', { n: 2 }, { keepResultMs: 10_000 })
    expect(await job.result()).toMatchObject({ args: { n: 2 }, runs: 3 })
    it_.allowLeftovers()
  })

  const ends = [
    ...[
      'nothing',
      'null',
      'classes',
      'function',
      'circle',
      'bigint',
      'deep',
      'proto',
      'large',
      'error',
      'text',
      'object',
    ],
    ...['nowhere', 'hostile', 'task', 'final', 'unclonable', 'hub', 'late'],
  ]

  it('ends as in the main thread, whatever it returns or throws', async () => {
    await startWorker({ slots: 4 })
    const hub = it_.hub()
    const end = async (task: string, how: string) => {
      try {
        return { result: await hub.call(task, { how }) }
      } catch (error) {
        const { code, message, retryable, data } = error as import('../../src/index.ts').HubError
        return { code, message: message.replaceAll(task, 'ending'), retryable, data }
      }
    }
    for (const how of ends) {
      const here = await end('ending_here:1.0', how)
      expect(here, how).not.toMatchObject({ code: 'Timeout' })
      expect(await end('ending:1.0', how), how).toEqual(here)
    }
  })

  it('has its arguments and its result checked in the main thread', async () => {
    await startWorker()
    const hub = it_.hub()
    expect(await failure(hub.call('checked:1.0', {}))).toMatchObject({ code: 'InvalidArgs' })
    expect(await failure(hub.call('checked:1.0', { n: 'one' }))).toMatchObject({ code: 'InvalidResult' })
    expect(await hub.call('checked:1.0', { n: 1 })).toBe(1)
  })

  it('tells backoff functions, middleware and events what it threw', async () => {
    const seen: unknown[] = []
    const backoff = (error: unknown) => {
      seen.push(error)
      return undefined
    }
    const ending = all.find(task => task.name.full === 'ending:1.0')!
    const worker = await startWorker({ tasks: [{ ...ending, backoff } as Task] })
    worker.events.on('task:settled', ({ thrown }) => seen.push(thrown))
    const job = await it_.hub().enqueue('ending:1.0', { how: 'error' }, { tracked: true })
    expect(await failure(job.result({ timeoutMs: 15_000 }))).toMatchObject({ code: 'TaskFailed', message: 'broken' })
    await eventually(() => seen.length === 2)
    expect(seen[0]).toMatchObject({ name: 'Error', message: 'broken', code: 'E1' })
    expect((seen[0] as Error).stack).toContain('thread-tasks.mjs')
    expect(seen[1]).toBe(seen[0])
    it_.allowLeftovers()
  })

  it('gives a job up at once where its error says so', async () => {
    await startWorker()
    const job = await it_.hub().enqueue('ending:1.0', { how: 'final' }, { tracked: true })
    expect(await failure(job.result({ timeoutMs: 15_000 }))).toMatchObject({ message: 'never' })
    it_.allowLeftovers()
  })

  it('has middleware around it in the main thread', async () => {
    const worker = makeWorker()
    worker.use(next => async (request, ctx) => {
      if (request.args === 'unclonable') return next({ ...request, args: { run: () => 1 } }, ctx)
      const result = (await next({ ...request, args: { changed: request.args } }, ctx)) as object
      return { ...result, around: true }
    })
    await worker.start()
    const hub = it_.hub()
    expect(await hub.call('tell:1.0', 1)).toMatchObject({ args: { changed: 1 }, around: true, isMainThread: false })
    const refused = await failure(hub.call('tell:1.0', 'unclonable'))
    expect(refused).toMatchObject({ code: 'TaskFailed', ran: 'yes' })
    expect(refused.message).toContain('The arguments of tell:1.0 cannot be given to a thread')
    expect(await hub.call('tell:1.0', 2)).toMatchObject({ args: { changed: 2 } })
  })
})

describe('what it logs', () => {
  it.each(['ends', 'dies'])('is all written before its run ends, when it %s', async how => {
    let lines = 0
    let atEnd = 0
    const worker = makeWorker()
    worker.use(next => async (request, ctx) => {
      const log = { ...ctx.log, info: () => lines++ }
      const { id, task, from, attempt, isJob, us, signal } = ctx
      const own = { id, task, from, attempt, isJob, us, signal, call: ctx.call.bind(ctx) }
      try {
        return await next(request, { ...own, remainingMs: () => ctx.remainingMs(), log })
      } finally {
        atEnd = lines
      }
    })
    await worker.start()
    await it_
      .hub()
      .call('chatty:1.0', { lines: 5000, how })
      .catch(() => undefined)
    expect(atEnd).toBe(5000)
  })
})

describe('a call that it makes', () => {
  it('goes through the main thread, with the time that is left', async () => {
    await startWorker()
    const hub = it_.hub()
    const { answer } = (await hub.call('calling:1.0', { task: 'echo:1.0', args: { a: 1 } }, { timeoutMs: 13_000 })) as {
      answer: { remainingMs: number }
    }
    expect(answer).toMatchObject({ args: { a: 1 }, isMainThread: true })
    expect(answer.remainingMs).toBeLessThanOrEqual(13_000)
    expect(await hub.call('calling:1.0', { task: 'echo:1.0' })).toMatchObject({ answer: { args: {} } })
  })

  it('passes the trace on', async () => {
    // Before anybody sends anything: ioredis takes a line that comes with the answer to MONITOR for a disorder.
    const monitor = await it_.redis.monitor()
    it_.onEnd(() => monitor.disconnect())
    await startWorker()
    const pushes: string[] = []
    monitor.on('monitor', (_time: string, args: string[]) => pushes.push(args.join(' ')))
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'
    await it_.hub().call('calling:1.0', { task: 'echo:1.0' }, { traceparent })
    const nested = pushes.filter(text => text.includes('"task":"echo:1.0"') && /RPUSH/i.test(text))
    expect(nested.some(text => text.includes(traceparent))).toBe(true)
  })

  it('fails as in the main thread', async () => {
    await startWorker()
    const hub = it_.hub()
    const plain = (value: unknown) => JSON.stringify(value).replaceAll(/"id":"[^"]*"/g, '"id"')
    for (const task of ['failing:1.0', 'nobody:1.0', 'not a name']) {
      const { code, message, data } = await failure(hub.call('passing_here:1.0', { task }))
      const inThread = await failure(hub.call('passing:1.0', { task }))
      expect(plain(inThread.data)).toBe(plain(data))
      expect(inThread).toMatchObject({ code, message })
      expect(await hub.call('calling:1.0', { task })).toMatchObject({ caught: { isHubError: true } })
    }
  })

  it('is checked, ended by its own time, and by its own signal', async () => {
    await startWorker()
    const hub = it_.hub()
    const caught = async (args: object) => ((await hub.call('calling:1.0', args)) as { caught: object }).caught
    expect(await caught({ task: 'echo:1.0', args: 'bigint' })).toMatchObject({ isHubError: true, code: 'InvalidArgs' })
    // Expired where a busy machine does not come to it in time.
    expect(await caught({ task: 'slow:1.0', timeoutMs: 300 })).toMatchObject({
      isHubError: true,
      code: expect.stringMatching(/^(Timeout|Expired)$/),
    })
    expect(await caught({ task: 'slow:1.0', cancelMs: 100 })).toMatchObject({ code: 'Aborted' })
  })
})

describe('a call that it does not await', () => {
  it('is answered behind its end', async () => {
    await startWorker()
    const [begun, answered] = [file(), file()]
    expect(await it_.hub().call('leaving:1.0', { how: 'returns', begun, answered })).toBe('gone')
    await eventually(() => existsSync(begun))
    writeFileSync(answered, '')
    await eventually(() => existsSync(`${answered}-heard`))
  })

  it('is given up when its thread dies', async () => {
    await startWorker()
    const [begun, answered] = [file(), file()]
    const failed = await failure(it_.hub().call('leaving:1.0', { how: 'dies', begun, answered }))
    expect(failed.message).toContain('exited with code: 5')
    expect(await written(`${begun}-aborted`)).toBe('Aborted')
  })
})

describe('while a handler computes', () => {
  it('others on the same worker are answered', async () => {
    await startWorker()
    const hub = it_.hub()
    const [begun, until] = [file(), file()]
    let isDone = false
    const computing = hub.call('computing:1.0', { begun, until }).finally(() => {
      isDone = true
    })
    await written(begun)
    for (let n = 0; n < 20; n++) expect(await hub.call('echo:1.0', { n })).toMatchObject({ args: { n } })
    expect(isDone).toBe(false)
    writeFileSync(until, '')
    expect(await computing).toMatchObject({ threadId: expect.any(Number) })
  })

  it('runs beyond its threads wait in order, and each thread has one', async () => {
    const worker = await startWorker()
    const hub = it_.hub()
    const order: number[] = []
    const gates = Array.from({ length: 5 }, () => ({ begun: file(), until: file() }))
    const calls = gates.map((gate, n) => hub.call('single:1.0', gate).then(() => order.push(n)))
    for (const [n, { begun, until }] of gates.entries()) {
      await written(begun)
      expect(worker.busy).toBe(gates.length - n)
      expect(gates.slice(n + 1).filter(later => existsSync(later.begun))).toEqual([])
      writeFileSync(until, '')
      await calls[n]
    }
    expect(order).toEqual([0, 1, 2, 3, 4])
  })

  it('it is not blamed when another one blocks the loop', async () => {
    const worker = await startWorker()
    const blocked: string[][] = []
    worker.events.on('loop:blocked', ({ tasks }) => blocked.push(tasks))
    const hub = it_.hub()
    const [begun, until] = [file(), file()]
    const computing = hub.call('computing:1.0', { begun, until })
    await written(begun)
    await hub.call('blocking:1.0', { ms: 2500 })
    await eventually(() => blocked.length > 0)
    expect(blocked).toEqual([['blocking:1.0']])
    writeFileSync(until, '')
    await computing
  })
})

describe('a run that is given up', () => {
  it('hears its signal in the thread, which lives on', async () => {
    await startWorker()
    const hub = it_.hub()
    const leave = new AbortController()
    const [begun, ended] = [file(), file()]
    const call = failure(hub.call('heeding:1.0', { begun, ended }, { signal: leave.signal }))
    const thread = await written(begun)
    leave.abort()
    expect(await call).toMatchObject({ code: 'Aborted' })
    expect(await written(ended)).toBe('Aborted true true')
    const again = file()
    const late = failure(hub.call('heeding:1.0', { begun: again, ended: file() }, { timeoutMs: 2000 }))
    expect(await written(again)).toBe(thread)
    expect(await late).toMatchObject({ code: 'Timeout' })
  })

  it('is settled by what it throws for its signal as in the main thread', async () => {
    const worker = await startWorker()
    const codes: unknown[] = []
    worker.events.on('task:settled', ({ task, code }) => codes.push([task, code]))
    const hub = it_.hub()
    await Promise.all(
      ['heeding_here:1.0', 'rethrowing:1.0'].map(task => failure(hub.call(task, {}, { timeoutMs: 1500 }))),
    )
    await eventually(() => codes.length === 2)
    expect(codes.sort()).toEqual([
      ['heeding_here:1.0', 'Timeout'],
      ['rethrowing:1.0', 'Timeout'],
    ])
  })

  it('stops, when it ignores that, with its thread; the next one has another', async () => {
    const worker = await startWorker()
    const settled: unknown[] = []
    worker.events.on('task:settled', ({ code, message }) => settled.push([code, message]))
    const hub = it_.hub()
    const [begun, beats, next] = [file(), file(), file()]
    const call = failure(hub.call('single:1.0', { begun, beats }, { timeoutMs: 3000 }))
    await written(begun)
    // It waits for the thread that will be ended.
    const waiting = hub.call('single:1.0', { begun: next, until: begun })
    expect(await call).toMatchObject({ code: 'Timeout' })
    expect(await waiting).toMatchObject({ threadId: expect.any(Number) })
    expect(settled[0]).toEqual(['Timeout', 'single:1.0 did not finish before its deadline.'])
    const size = statSync(beats).size
    await new Promise(resolve => setTimeout(resolve, 300))
    expect(statSync(beats).size).toBe(size)
  })

  it('stops so as well when its caller left, or its job was cancelled', async () => {
    const worker = await startWorker()
    const hub = it_.hub()
    const leave = new AbortController()
    const [first, second] = [file(), file()]
    const call = failure(hub.call('computing:1.0', { begun: first }, { signal: leave.signal }))
    const job = await hub.enqueue('computing:1.0', { begun: second }, { tracked: true })
    await Promise.all([written(first), written(second)])
    leave.abort()
    await job.cancel()
    expect(await call).toMatchObject({ code: 'Aborted' })
    await eventually(() => worker.busy === 0, 10_000)
    expect(await job.status()).toMatchObject({ state: 'cancelled' })
    it_.allowLeftovers()
  })

  it('never begins when it waited for a thread until then', async () => {
    const worker = await startWorker()
    const hub = it_.hub()
    const [begun, until, never] = [file(), file(), file()]
    const first = hub.call('single:1.0', { begun, until })
    await written(begun)
    const late = failure(hub.call('single:1.0', { begun: never }, { timeoutMs: 200 }))
    expect(await late).toMatchObject({ code: 'Timeout' })
    // At once, not a second later: nothing runs that might heed its signal.
    await eventually(() => worker.busy === 1, 900)
    writeFileSync(until, '')
    await first
    expect(await hub.call('single:1.0', { begun: file(), until })).toBeDefined()
    expect(existsSync(never)).toBe(false)
  })
})

describe('a thread that dies', () => {
  it.each([
    ['exit', 'The thread that ran dying:1.0 died: worker exited with code: 3'],
    ['uncaught', 'The thread that ran dying:1.0 died: thrown by a timer'],
  ])('by %s costs its own run and no other', async (how, message) => {
    await startWorker()
    const hub = it_.hub()
    const [begun, until] = [file(), file()]
    const other = hub.call('computing:1.0', { begun, until })
    const same = hub.call('dying:1.0', { how: 'stray' })
    await written(begun)
    expect(await failure(hub.call('dying:1.0', { how }))).toMatchObject({ code: 'TaskFailed', message })
    expect(await same).toBeDefined()
    writeFileSync(until, '')
    expect(await other).toBeDefined()
    expect(await hub.call('dying:1.0', { how: 'stray' })).toBeDefined()
    const job = await hub.enqueue('dying:1.0', { how }, { tracked: true })
    expect(await failure(job.result({ timeoutMs: 15_000 }))).toMatchObject({ message })
    it_.allowLeftovers()
  })

  it('is no rejected promise that nobody awaits, which is told', async () => {
    const worker = await startWorker()
    const problems: unknown[] = []
    worker.events.on('problem', problem => problems.push(problem))
    const hub = it_.hub()
    expect(await hub.call('dying:1.0', { how: 'stray' })).toBeDefined()
    expect(problems).toEqual([{ where: 'threads', reason: 'dying:1.0: A promise was rejected: astray' }])
  })

  const moduleOf = (text: string) => {
    const path = `${file()}.mjs`
    const index = JSON.stringify(pathToFileURL(join(root, 'dist/index.js')).href)
    writeFileSync(path, `import * as pshub from ${index}\nimport { isMainThread } from 'node:worker_threads'\n${text}`)
    return pathToFileURL(path).href
  }
  const ofModule = (module: string) => library.defineTask('other:1.0', { threads: 1, module }, () => 'here') as Task

  it('because its module fails there gives the reason, each time anew', async () => {
    const flag = file()
    const module = moduleOf(`import { existsSync } from 'node:fs'
if (!existsSync(${JSON.stringify(flag)})) throw new Error('no database')
export const task = pshub.defineTask('other:1.0', {}, () => 'from the module')`)
    await startWorker({ tasks: [ofModule(module)] })
    const hub = it_.hub()
    for (let n = 0; n < 2; n++) {
      const { code, message } = await failure(hub.call('other:1.0'))
      expect([code, message]).toEqual(['TaskFailed', `${module} failed while it was loaded in a thread: no database`])
    }
    writeFileSync(flag, '')
    expect(await hub.call('other:1.0')).toBe('from the module')
  })

  it.each([
    ['exports another task', `export const a = pshub.defineTask('a:1.0', {}, () => 1)`, 'does not export other:1.0'],
    ['starts a worker', `new pshub.Worker({ tasks: [] })`, 'put the tasks into a module of their own'],
    ['ends the process', `process.exit(0)`, 'worker exited with code: 0'],
    ['is not JavaScript', `export const = 5`, 'failed while it was loaded in a thread: Unexpected token'],
  ])('or cannot run it, because its module %s, says so', async (_, text, message) => {
    await startWorker({ tasks: [ofModule(moduleOf(text))] })
    const failed = await failure(it_.hub().call('other:1.0'))
    expect(failed.code).toBe('TaskFailed')
    expect(failed.message).toContain(message)
  })
})

describe('stop()', () => {
  it('lets a run end within the grace', async () => {
    const worker = await startWorker()
    const [begun, until] = [file(), file()]
    const call = it_.hub().call('computing:1.0', { begun, until })
    await written(begun)
    const stopped = worker.stop({ graceMs: 10_000 })
    writeFileSync(until, '')
    expect(await call).toBeDefined()
    await stopped
  })

  it('ends it with its thread after that; a job of it runs elsewhere', async () => {
    const worker = await startWorker()
    const hub = it_.hub()
    const [begun, beats, again, until] = [file(), file(), file(), file()]
    const call = failure(hub.call('computing:1.0', { begun, beats }))
    const job = await hub.enqueue('single:1.0', { begun: again, until }, { keepResultMs: 10_000 })
    await Promise.all([written(begun), written(again)])
    await worker.stop({ graceMs: 0 })
    const size = statSync(beats).size
    expect(await call).toMatchObject({ code: 'WorkerLost' })
    rmSync(again)
    await startWorker()
    await written(again)
    writeFileSync(until, '')
    expect(await job.result({ timeoutMs: 15_000 })).toBeDefined()
    expect(statSync(beats).size).toBe(size)
    it_.allowLeftovers()
  })
})

describe('what cannot work is refused', () => {
  it('by defineTask', () => {
    for (const threads of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => defineTask('a:1.0', { threads }, () => 1)).toThrow(/'threads' must be a whole number of at least 1/)
    expect(() => defineTask('a:1.0', { threads: '2' as never }, () => 1)).toThrow(ConfigError)
    expect(() => defineTask('a:1.0', { threads: 1, module: './a.mjs' }, () => 1)).toThrow(/import\.meta\.url/)
  })

  it('by a worker', () => {
    const task = (threads: number, module = {}) => library.defineTask('a:1.0', { threads, ...module }, () => 1) as Task
    expect(() => makeWorker({ tasks: [task(1)] })).toThrow(/a:1\.0 has threads.*module: import\.meta\.url/)
    expect(() => makeWorker({ tasks: [task(9, { module: import.meta.url })] })).toThrow(/9 threads, but .* 8 slots/)
    expect(() => makeWorker({ tasks: [task(8, { module: import.meta.url })] })).not.toThrow()
  })
})
