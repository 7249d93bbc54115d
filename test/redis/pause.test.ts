import { describe, expect, it } from 'vitest'
import { ConfigError, defineTask, type EventMap, Hub, type Worker } from '../../src/index.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

const server = useRedis()
const keys = () => queueKeys(server)

/** A task that counts its starts and ends when it is told to. */
const makeTask = () => {
  const started: unknown[] = []
  const ending: (() => void)[] = []
  const note = defineTask('note:1.0', { idempotent: true }, args => void started.push(args))
  const stay = defineTask('stay:1.0', { timeoutMs: 20_000 }, async args => {
    started.push(args)
    await new Promise<void>(resolve => ending.push(resolve))
    return args
  })
  const end = () => {
    for (const resolve of ending.splice(0)) resolve()
  }
  return { tasks: [note, stay], started, end }
}

const listen = (worker: Worker) => {
  const told: (EventMap['queue:paused'] | string)[] = []
  let beats = 0
  worker.events.on('queue:paused', event => told.push(event))
  worker.events.on('queue:resumed', () => told.push('resumed'))
  worker.events.on('worker:beat', () => beats++)
  return {
    told,
    /** Resolves when the worker has beaten so many times more, one of which may be under way. */
    beats: async (count = 2) => {
      const until = beats + count
      await eventually(() => beats >= until)
    },
  }
}

const backlog = () => server.redis.llen(keys().calls)
const isWaiting = async () => / flags=\w*b\w* .* cmd=blpop/m.test(String(await server.redis.call('CLIENT', 'LIST')))
const unblocks = async () =>
  Number(/cmdstat_client\|unblock:calls=(\d+)/.exec(await server.redis.info('commandstats'))?.[1] ?? 0)

describe('a paused queue', () => {
  it('is not taken from by a worker that waits for its bell, and is again when it is resumed', async () => {
    const { tasks, started } = makeTask()
    const worker = await server.worker(tasks)
    const hub = server.hub()
    await hub.call('note:1.0', 1)
    await eventually(isWaiting)
    const before = await unblocks()
    const { told } = listen(worker)
    const pausedMs = await hub.pause('q')
    await eventually(() => told.length > 0)
    expect(told).toEqual([{ worker: worker.id, queue: 'q', pausedMs }])
    // The wait did not end by itself.
    await eventually(async () => (await unblocks()) > before && !(await isWaiting()))
    expect((await failure(hub.call('note:1.0', 2, { timeoutMs: 300 }))).code).toBe('Timeout')
    const waiting = hub.call('note:1.0', 3)
    await eventually(async () => (await backlog()) === 2)
    expect(await hub.resume('q')).toBe(true)
    await waiting
    expect(started).toEqual([1, 3])
    expect(told.at(-1)).toBe('resumed')
  })

  it('lets a busy worker finish and keep its lease, and leaves the rest where it is', async () => {
    const { tasks, started, end } = makeTask()
    const worker = await server.worker(tasks, { slots: 1, leaseMs: 2000 })
    const hub = server.hub()
    const running = hub.call('stay:1.0', 1)
    await eventually(() => started.length === 1)
    const waiting = hub.call('stay:1.0', 2)
    await eventually(async () => (await backlog()) === 1)
    const { told, beats } = listen(worker)
    const { id } = worker
    await hub.pause('q')
    await eventually(() => told.length > 0)
    end()
    expect(await running).toBe(1)
    await beats()
    expect([started, await backlog(), worker.id, worker.busy]).toEqual([[1], 1, id, 0])
    expect(await server.redis.exists(keys().held(id))).toBe(0)
    expect((await hub.queues())[0]).toMatchObject({ queue: 'q', workers: 1, held: 0, backlog: 1 })
    await hub.resume('q')
    await eventually(() => started.length === 2)
    end()
    expect(await waiting).toBe(2)
  })
})

describe('hub.pause() and hub.resume()', () => {
  it('keep the first time, and say whether there was a pause; also of a queue that nobody serves', async () => {
    const { redis } = server
    const hub = server.hub()
    const before = Math.floor(Number((await redis.time())[0]) * 1000)
    expect(await hub.resume('q')).toBe(false)
    const pausedMs = await hub.pause('q')
    expect(pausedMs).toBeGreaterThanOrEqual(before)
    await redis.set(keys().paused, '1795220163659')
    expect(await hub.pause('q')).toBe(1_795_220_163_659)
    await server.worker(makeTask().tasks)
    expect((await hub.queues())[0]).toMatchObject({ queue: 'q', pausedMs: 1_795_220_163_659 })
    expect([await hub.resume('q'), await hub.resume('q')]).toEqual([true, false])
    expect((await hub.queues())[0]).toMatchObject({ queue: 'q', pausedMs: undefined })
  })

  it('refuse what is not the name of a queue, and say why they could not reach Redis', async () => {
    const hub = server.hub()
    for (const name of ['', 'a b', '-a', '{q}', 'x'.repeat(65), undefined, 7] as string[]) {
      for (const change of ['pause', 'resume'] as const) {
        const error = await failure(hub[change](name))
        expect(error).toBeInstanceOf(ConfigError)
        expect(error.message).toContain('is not the name of a queue: 1 to 64 letters')
      }
    }
    await hub.close()
    expect((await failure(hub.pause('q'))).code).toBe('HubClosed')
    const away = new Hub({ redis: 'redis://127.0.0.1:1', logLevel: 'silent' })
    const error = await failure(away.resume('q'))
    expect([error.code, error.message]).toEqual([
      'NotEnqueued',
      expect.stringMatching(/^Queue q could not be resumed: /),
    ])
    await away.close()
  })
})
