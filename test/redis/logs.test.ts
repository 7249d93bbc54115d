import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Events } from '../../src/figures/events.ts'
import { defineTask, type EventMap } from '../../src/index.ts'
import { delay } from '../support/delay.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const server = useRedis()
const support = (name: string) => resolve(import.meta.dirname, '../support', name)

/** Runs a command to its end. `readLate`: what it writes is not read for a while. */
const run = async (command: string[], env: Record<string, string>, readLate = false) => {
  const child = spawn(command[0]!, command.slice(1), {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const exited = new Promise<number | null>(done => child.once('close', code => done(code)))
  let [out, err] = ['', '']
  child.stdout.on('data', chunk => {
    out += chunk
  })
  if (readLate) await delay(300, 'so that the pipe of the process is full')
  child.stderr.on('data', chunk => {
    err += chunk
  })
  return { code: await exited, out, err }
}
const node = (script: string) => [process.execPath, support(script)]

const secretUser = async () => {
  await server.redis.call('ACL', 'SETUSER', 'teller', 'reset', 'on', '>SECRET', '~*', '+@all')
  server.onEnd(() => server.redis.call('ACL', 'DELUSER', 'teller'))
  return server.url.replace('//', '//teller:SECRET@')
}

describe('the log', () => {
  it('tells of all that happened, at level debug, and nothing of what it was about', async () => {
    const env = { PSHUB_REDIS: await secretUser(), PSHUB_NAMESPACE: server.namespace, PSHUB_LOG_LEVEL: 'debug' }
    const { out, err } = await run(node('telling-process.mjs'), env)
    const codes = ['ok', 'InvalidArgs', 'InvalidResult', 'TaskFailed', 'TaskFailed', 'ok', 'Timeout']
    expect(JSON.parse(out)).toEqual([...codes, 'InvalidResult', 'InvalidArgs', 'NoSuchTask', 'NotEnqueued'])
    expect(err.split('\n').filter(line => line.includes('SECRET'))).toEqual([])
    const lines = err
      .trim()
      .split('\n')
      .map(line => JSON.parse(line))
    const told = (msg: string) => lines.filter(line => line.msg === msg)
    // One line for each call and for each request, with its task and id.
    expect(
      told('call settled')
        .map(({ level, task, code }) => `${level} ${task} ${code ?? 'ok'}`)
        .sort(),
    ).toEqual(
      [
        ...['echo:1.0 ok', 'echo:1.0 ok', 'cycle:1.0 InvalidResult', 'fails:1.0 TaskFailed', 'throws:1.0 TaskFailed'],
        ...['speaks:1.0 ok', 'slow:1.0 Timeout', 'strict:1.0 InvalidResult', 'strict:1.0 InvalidArgs'],
        ...['strict:1.0 InvalidArgs', 'never:1.0 NoSuchTask', 'echo:1.0 NotEnqueued'],
      ]
        .map(text => `20 ${text}`)
        .sort(),
    )
    const done = told('task done')
    expect(done.map(({ level, task }) => `${level} ${task}`).sort()).toEqual([
      '20 echo:1.0',
      '20 echo:1.0',
      '20 slow:1.0',
      '20 speaks:1.0',
    ])
    for (const { id, us } of done) {
      expect(told('call settled').some(call => call.id === id)).toBe(true)
      expect(Object.keys(us)).toEqual(['backlog', 'queue', 'exec'])
    }
    const failed = [...told('task failed'), ...told('task rejected')].map(({ level, task, code, reason }) => ({
      level,
      task,
      code,
      reason,
    }))
    expect(failed.sort((a, b) => (`${a.task}${a.code}` < `${b.task}${b.code}` ? -1 : 1))).toEqual([
      { level: 40, task: 'cycle:1.0', code: 'InvalidResult', reason: 'nested deeper than 64 levels' },
      { level: 40, task: 'fails:1.0', code: 'TaskFailed', reason: 'the disk is full' },
      { level: 40, task: 'strict:1.0', code: 'InvalidArgs', reason: 'is not a known field' },
      { level: 40, task: 'strict:1.0', code: 'InvalidResult', reason: 'is not a known field' },
      { level: 40, task: 'throws:1.0', code: 'TaskFailed', reason: 'a value that is not an Error was thrown' },
    ])
    // What a handler logs carries its task and the id of its request.
    const { id } = done.find(({ task }) => task === 'speaks:1.0')!
    expect(told('half way')).toEqual([expect.objectContaining({ level: 30, task: 'speaks:1.0', id, rows: 10 })])
    expect(told('Redis denies access; reconnecting').length).toBeGreaterThan(0)
    expect(told('dropped a list entry that is not a request')).toHaveLength(1)
    // Gauges are no log.
    expect(err).not.toMatch(/loopDelay|oldestMs/)
  })

  it('is lines of JSON unless it goes to a terminal, where each is one for people', async () => {
    const chatty = node('chatty-process.mjs')
    const first = async (env: Record<string, string>, command = chatty) => {
      const { err, out } = await run(command, { NO_COLOR: '1', ...env })
      return (err || out).split('\n')[0]!.trim()
    }
    const pretty = /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: line n=1 filler=x{50}$/
    expect(JSON.parse(await first({ PSHUB_LOG_FORMAT: 'auto' }))).toMatchObject({ level: 30, n: 1, msg: 'line' })
    expect(await first({ PSHUB_LOG_FORMAT: 'pretty' })).toMatch(pretty)
    // A terminal of its own, whose output is written to stdout.
    const terminal = ['python3', '-c', 'import pty, sys; pty.spawn(sys.argv[1:])', ...chatty]
    expect(await first({ PSHUB_LOG_FORMAT: 'auto' }, terminal)).toMatch(pretty)
    expect(JSON.parse(await first({ PSHUB_LOG_FORMAT: 'json' }, terminal))).toMatchObject({ n: 1 })
  })

  it.each(['json', 'pretty'])('loses no line when the process ends, as %s', async format => {
    const { code, err } = await run(node('chatty-process.mjs'), { PSHUB_LOG_FORMAT: format }, true)
    expect(code).toBe(3)
    const numbers = [...err.matchAll(/\bn(?:":|=)(\d+)/g)].map(match => Number(match[1]))
    expect(numbers).toEqual(Array.from({ length: 2000 }, (_, n) => n + 1))
  })
})

describe('a subscriber', () => {
  it('that throws, or is async and rejects, hurts nobody and is told of once', async () => {
    const echo = defineTask('echo:1.0', {}, n => n)
    const worker = await server.worker([echo])
    const hub = server.hub()
    const problems: string[] = []
    const settled: (string | undefined)[] = []
    const rejections: unknown[] = []
    const onRejection = (reason: unknown) => rejections.push(reason)
    process.on('unhandledRejection', onRejection)
    server.onEnd(() => process.off('unhandledRejection', onRejection))
    for (const { events } of [hub, worker]) {
      events.on('problem', ({ where, reason }) => problems.push(`${where}: ${reason}`))
      events.on('problem', () => {
        throw new Error('in the end')
      })
    }
    hub.events.on('call:settled', () => {
      throw new Error('thrown')
    })
    hub.events.on('call:settled', async () => {
      throw new Error('rejected')
    })
    hub.events.on('call:settled', ({ id }) => settled.push(id))
    worker.events.on('task:settled', () => {
      throw 'a text'
    })
    worker.events.on('claim:taken', () => Promise.reject(new Error('claimed')))
    for (let n = 0; n < 5; n++) expect(await hub.call('echo:1.0', n)).toBe(n)
    expect(settled).toHaveLength(5)
    await eventually(
      () => problems.filter(problem => /^subscriber: .* failed: (?!in the end)/.test(problem)).length === 4,
    )
    expect(problems.sort()).toEqual(
      [
        ...['thrown', 'rejected'].map(why => `subscriber: A listener for 'call:settled' failed: ${why}`),
        "subscriber: A listener for 'task:settled' failed: a text",
        "subscriber: A listener for 'claim:taken' failed: claimed",
        ...[1, 2].map(() => "subscriber: A listener for 'problem' failed: in the end"),
      ].sort(),
    )
    await new Promise(setImmediate)
    expect(rejections).toEqual([])
  })

  it('can end its subscription, also from within', () => {
    const events = new Events()
    const seen: EventMap['reply:late'][] = []
    const end = events.on('reply:late', event => {
      seen.push(event)
      end()
    })
    expect(events.has('reply:late')).toBe(true)
    for (const id of ['a', 'b']) events.emit('reply:late', { id })
    expect(seen).toEqual([{ id: 'a' }])
    expect(events.has('reply:late')).toBe(false)
  })
})
