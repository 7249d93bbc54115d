import { describe, expect, it } from 'vitest'
import { defineTask, type Hub } from '../../src/index.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

/** A worker that was told to stop finishes what it runs for some time; nobody should count on it meanwhile. */
const it_ = useRedis()

const echo = defineTask('echo:1.0', {}, args => args)

/** A worker that runs one call until `finish`, so that it drains from `stop` until then. */
const busyWorker = async (hub: Hub) => {
  let started = false
  let finish = () => {}
  const hold = defineTask('hold:1.0', { timeoutMs: 20_000 }, () => {
    started = true
    return new Promise(resolve => {
      finish = () => resolve('finished')
    })
  })
  const worker = await it_.worker([hold, echo], { slots: 2 })
  const running = hub.call('hold:1.0')
  // For a test that fails before it awaits this.
  running.catch(() => undefined)
  await eventually(() => started)
  return { worker, running, stop: () => worker.stop({ graceMs: 20_000 }), finish: () => finish() }
}

const drain = async (hub: Hub) => {
  const busy = await busyWorker(hub)
  return { ...busy, stopped: busy.stop() }
}

const isDraining = (id: string) => async () => {
  const stats = await it_.redis.hget(`${it_.namespace}:stats`, id)
  return stats !== null && JSON.parse(stats).draining
}

describe('the last worker of a task, while it drains', () => {
  it('is not called by a hub that asks now: NoWorkers at once; what runs there still ends well', async () => {
    const { worker, running, stopped, finish } = await drain(it_.hub())
    await eventually(isDraining(worker.id))
    for (const called of ['echo:1.0', 'echo:1', 'echo'])
      expect(await failure(it_.hub().call(called))).toMatchObject({ code: 'NoWorkers', ran: 'no' })
    finish()
    expect(await running).toBe('finished')
    await stopped
    expect(await it_.redis.hlen(`${it_.namespace}:stats`)).toBe(0)
  })

  it('is soon not called any more by a hub that knew it, whether it calls on or rests', async () => {
    const [calling, resting] = [it_.hub(), it_.hub()]
    const { running, stop, finish } = await busyWorker(calling)
    await Promise.all([calling.call('echo:1.0'), resting.call('echo:1.0')])
    const stopped = stop()
    const askOnce = (hub: Hub) => failure(hub.call('echo:1.0', 1, { timeoutMs: 50 }))
    await eventually(async () => (await askOnce(calling)).code === 'NoWorkers')
    await eventually(async () => (await askOnce(resting)).code === 'NoWorkers')
    finish()
    await running
    await stopped
    await it_.redis.del(`${it_.namespace}:{q}:calls`, `${it_.namespace}:{q}:bell`)
  })

  it('is shown as draining, and its task as one that nobody serves', async () => {
    const hub = it_.hub()
    const { worker, running, stopped, finish } = await drain(hub)
    await eventually(isDraining(worker.id))
    const { tasks, workers, queues } = await hub.overview()
    expect(tasks.map(({ task, workers }) => [task, workers])).toEqual([
      ['echo:1.0', []],
      ['hold:1.0', []],
    ])
    expect(workers).toMatchObject([{ id: worker.id, live: true, stats: { draining: true, busy: 1 } }])
    expect(queues).toMatchObject([{ queue: 'q', workers: 0, slots: 0, busy: 1, held: 1 }])
    finish()
    await running
    await stopped
  })
})
