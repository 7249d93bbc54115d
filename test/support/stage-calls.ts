import { expect, it } from 'vitest'
import { defineTask, type HubError, TaskError } from '../../src/index.ts'
import type { Stage } from './stages.ts'

/** How an attempt failed, as far as a caller goes by it. Heard from the start, because time is made to pass before it is asked for. */
export const failure = (attempt: Promise<unknown>): Promise<unknown> =>
  attempt.then(
    result => ({ result }),
    ({ code, ran, data }: HubError) => ({ code, ran, ...(data === undefined ? {} : { data }) }),
  )

const number = { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] } as const
const twice = defineTask('twice:1.0', { args: number, idempotent: true }, ({ n }) => 2 * n)
const newer = defineTask('twice:1.1', { args: number, idempotent: true }, ({ n }) => 2 * n + 0.1)
const echo = defineTask('echo:1.0', {}, args => args)

/** Never ends by itself. */
const stuck = (_: unknown, { signal }: { signal: AbortSignal }) =>
  new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))

/** What callers see. */
export const callCases = (stage: () => Stage): void => {
  it('answers calls by exact version, newest minor and newest version, and several at once', async () => {
    await stage().worker([twice, newer])
    const hub = stage().hub()
    expect(await hub.call('twice:1.0', { n: 21 })).toBe(42)
    expect(await hub.call('twice:1', { n: 1 })).toBe(2.1)
    expect(await hub.call('twice', { n: 2 })).toBe(4.1)
    const { a, b } = await hub.gather({ a: ['twice:1.0', { n: 1 }], b: ['twice:1.0', { n: 'x' }] })
    expect(a).toMatchObject({ ok: true, value: 2 })
    expect(b).toMatchObject({ error: { code: 'InvalidArgs' } })
    const many = await Promise.all(Array.from({ length: 200 }, (_, n) => hub.call('twice:1.0', { n })))
    expect(many).toEqual(Array.from({ length: 200 }, (_, n) => 2 * n))
  })

  it('carries any JSON there and back', async () => {
    await stage().worker([echo])
    const hub = stage().hub()
    const given = { text: 'Grüße, 世界 🎈 \u0000 \\ "', empty: [[], {}, ''], big: 2 ** 53 - 1, nothing: null }
    expect(await hub.call('echo:1.0', given)).toEqual(given)
    const long = { text: 'ä'.repeat(200_000) }
    expect(await hub.call('echo:1.0', long)).toEqual(long)
  })

  it('says what is wrong with a call', async () => {
    const failing = defineTask('failing:1.0', {}, () => {
      throw new TaskError('no such city', { code: 'NoSuchCity', data: { city: 'Atlantis' } })
    })
    const wrong = defineTask('wrong:1.0', { result: { type: 'integer' } }, () => 'text' as never)
    const { worker } = await stage().worker([twice, failing, wrong])
    const hub = stage().hub()
    expect(await failure(hub.call('twice:1.0', { n: 'x' }))).toMatchObject({ code: 'InvalidArgs', ran: 'no' })
    expect(await failure(hub.call('twice:2.0', { n: 1 }))).toMatchObject({ code: 'NoSuchTask', ran: 'no' })
    expect(await failure(hub.call('failing:1.0'))).toEqual({
      code: 'NoSuchCity',
      ran: 'yes',
      data: { city: 'Atlantis' },
    })
    expect(await failure(hub.call('wrong:1.0'))).toMatchObject({ code: 'InvalidResult', ran: 'yes' })
    await worker.stop()
    expect(await failure(stage().hub().call('twice:1.0', { n: 1 }))).toMatchObject({ code: 'NoWorkers', ran: 'no' })
  })

  it('ends calls at their deadline, and never starts one behind it', async () => {
    const started: unknown[] = []
    const slow = defineTask('slow:1.0', {}, (args, ctx) => {
      started.push(args)
      return stuck(args, ctx)
    })
    await stage().worker([slow], { slots: 1 })
    const hub = stage().hub()
    const first = failure(hub.call('slow:1.0', { at: 1 }, { timeoutMs: 700 }))
    const second = failure(hub.call('slow:1.0', { at: 2 }, { timeoutMs: 300 }))
    await stage().pass(1000)
    expect(await first).toMatchObject({ code: 'Timeout', ran: 'maybe' })
    expect(await second).toMatchObject({ code: expect.stringMatching(/Timeout|Expired|Overloaded/) })
    await stage().pass(500)
    expect(started).toEqual([{ at: 1 }])
  })

  it('ends a handler whose caller gave up', async () => {
    const aborted: unknown[] = []
    const slow = defineTask('slow:1.0', {}, (args, { signal }) => {
      signal.addEventListener('abort', () => aborted.push(args))
      return stuck(args, { signal })
    })
    await stage().worker([slow])
    const caller = new AbortController()
    const called = failure(stage().hub().call('slow:1.0', { at: 1 }, { signal: caller.signal, timeoutMs: 60_000 }))
    await stage().pass(200)
    caller.abort()
    expect(await called).toMatchObject({ code: 'Aborted', ran: 'maybe' })
    await stage().pass(2000)
    expect(aborted).toEqual([{ at: 1 }])
  })

  it('has another worker run what one held that died, if that may be run twice', async () => {
    const runs: string[] = []
    const taskOf = (worker: string, name: string, idempotent: boolean) =>
      defineTask(`${name}:1.0`, { idempotent }, (args, ctx) => {
        runs.push(`${worker} ${name}`)
        return worker === 'first' ? stuck(args, ctx) : `by ${worker}`
      })
    const tasksOf = (worker: string) => [taskOf(worker, 'again', true), taskOf(worker, 'once', false)]
    const first = await stage().worker(tasksOf('first'))
    const hub = stage().hub()
    const again = failure(hub.call('again:1.0', {}, { timeoutMs: 30_000 }))
    const once = failure(hub.call('once:1.0', {}, { timeoutMs: 30_000 }))
    await stage().pass(300)
    expect(runs.sort()).toEqual(['first again', 'first once'])
    await stage().worker(tasksOf('second'))
    first.die()
    await stage().pass(6500)
    expect(await again).toEqual({ result: 'by second' })
    expect(await once).toMatchObject({ code: 'WorkerLost', ran: 'maybe' })
    expect(runs.slice(2)).toEqual(['second again'])
  })

  it('fails calls while Redis is away, as certainly not enqueued, and goes on when it is back', async () => {
    await stage().worker([twice])
    const hub = stage().hub()
    expect(await hub.call('twice:1.0', { n: 1 })).toBe(2)
    await stage().goAway()
    const called = failure(hub.call('twice:1.0', { n: 2 }, { timeoutMs: 5000 }))
    await stage().pass(1500)
    expect(await called).toMatchObject({ code: 'NotEnqueued', ran: 'no' })
    await stage().comeBack()
    expect(await hub.call('twice:1.0', { n: 3 })).toBe(6)
  })
}
