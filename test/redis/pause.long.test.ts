import { describe, expect, it } from 'vitest'
import { defineTask, type EventMap, type Worker } from '../../src/index.ts'
import { useRights } from '../support/acl-users.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

const server = useRedis()
const rights = useRights(server)
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
    beats: async (count = 3) => {
      const until = beats + count
      await eventually(() => beats >= until)
    },
  }
}

const backlog = () => server.redis.llen(keys().calls)
const isWaiting = async () => / flags=\w*b\w* .* cmd=blpop/m.test(String(await server.redis.call('CLIENT', 'LIST')))

describe('a paused queue', () => {
  it('keeps its jobs too, also from a worker that runs as many as it may', async () => {
    const { redis } = server
    const { tasks, started, end } = makeTask()
    const worker = await server.worker(tasks, { slots: 2, jobSlots: 1 })
    const push = async (n: number) => {
      await redis.rpush(keys().jobs, JSON.stringify({ id: `j${n}`, task: 'stay:1.0', args: n }))
      if ((await redis.llen(keys().jobBell)) === 0) await redis.rpush(keys().jobBell, '1')
    }
    await push(1)
    await eventually(() => started.length === 1)
    const { told, beats } = listen(worker)
    const hub = server.hub()
    await hub.pause('q')
    await eventually(() => told.length > 0)
    await push(2)
    end()
    await eventually(() => worker.busy === 0)
    await beats()
    expect([started, await redis.llen(keys().jobs)]).toEqual([[1], 1])
    await hub.resume('q')
    await eventually(() => started.length === 2)
    end()
    await eventually(() => worker.busy === 0)
  })

  it('is paused for all its workers, and for no other queue', async () => {
    const { tasks, started } = makeTask()
    const other = defineTask('other:1.0', {}, () => 'other')
    const workers = [await server.worker(tasks), await server.worker(tasks)]
    const heard = workers.map(listen)
    const hub = server.hub()
    await hub.pause('q')
    await eventually(() => heard.every(({ told }) => told.length === 1))
    await eventually(async () => !(await isWaiting()))
    await server.worker([other], { queue: 'other' })
    const calls = Array.from({ length: 20 }, (_, n) => hub.call('note:1.0', n, { timeoutMs: 10_000 }))
    await eventually(async () => (await backlog()) === 20)
    expect(await hub.call('other:1.0')).toBe('other')
    await Promise.all(heard.map(({ beats }) => beats()))
    expect([started, await backlog()]).toEqual([[], 20])
    await hub.resume('q')
    await Promise.all(calls)
    await eventually(() => heard.every(({ told }) => told.at(-1) === 'resumed'))
  })

  it('is not taken from any more once the wait of a worker is over that may not end it', async () => {
    const { tasks, started } = makeTask()
    const redis = await rights.user('app', `${rights.rules('worker')} -client|id -client|unblock`)
    const worker = await server.worker(tasks, { redis })
    const hub = server.hub()
    await hub.call('note:1.0', 1)
    await eventually(isWaiting)
    const { told } = listen(worker)
    await hub.pause('q')
    await eventually(() => told.length > 0)
    await eventually(async () => !(await isWaiting()))
    const waiting = hub.call('note:1.0', 2)
    await eventually(async () => (await backlog()) === 1)
    expect(started).toEqual([1])
    await hub.resume('q')
    await waiting
    await rights.denied()
  })

  it('gets back what a lost worker held, and keeps it', async () => {
    const { redis } = server
    const { tasks, started } = makeTask()
    const worker = await server.worker(tasks)
    const hub = server.hub()
    await hub.pause('q')
    const { told } = listen(worker)
    await eventually(() => told.length > 0)
    await redis.hset(keys().held('gone'), 'x', '{"at":1,"ttl":0,"id":"x","idempotent":true,"task":"note:1.0","args":7}')
    await redis.zadd(keys().leases, 1, 'gone')
    await eventually(async () => (await backlog()) === 1)
    expect(started).toEqual([])
    await hub.resume('q')
    await eventually(() => started.length === 1)
    expect(started).toEqual([7])
    await eventually(async () => (await redis.exists(keys().held(worker.id))) === 0)
  })

  it('costs no lease and pauses nothing where somebody else has put something under the name', async () => {
    const { redis } = server
    const { paused } = keys()
    const { tasks, started } = makeTask()
    await redis.rpush(paused, 'squat')
    const worker = await server.worker(tasks)
    const { told, beats } = listen(worker)
    const hub = server.hub()
    await hub.call('note:1.0', 1)
    expect((await hub.queues())[0]).toMatchObject({ queue: 'q', pausedMs: undefined })
    for (const change of ['pause', 'resume'] as const) {
      const error = await failure(hub[change]('q'))
      expect([error.code, error.message]).toEqual(['NotEnqueued', expect.stringMatching(/^Queue q could.*WRONGTYPE/)])
    }
    await redis.del(paused)
    await redis.set(paused, 'soon')
    await beats()
    await hub.call('note:1.0', 2)
    expect((await hub.queues())[0]).toMatchObject({ pausedMs: undefined })
    expect([started, told]).toEqual([[1, 2], []])
    expect(await hub.pause('q')).toBe(Number(await redis.get(paused)))
    await eventually(() => told.length > 0)
    await hub.resume('q')
  })
})
