import { describe, expect, it } from 'vitest'
import type { EventMap } from '../../src/index.ts'
import { eventually, failure, released, useRedis } from '../support/hub-fixture.ts'
import { startWorkerProcess, type WorkerProcess } from '../support/worker-process.ts'

const it_ = useRedis()

const start = async (options?: { slots?: number; args?: string[] }): Promise<WorkerProcess> => {
  const worker = await startWorkerProcess(it_.url, it_.namespace, options)
  it_.onEnd(async () => {
    await released(it_)
    worker.signal('SIGKILL')
    await worker.exited
  })
  return worker
}

/** What killed workers leave: their leases and cards, and a bell nobody answers. */
const forgetKilled = () =>
  it_.onEnd(async () => {
    const left = (await it_.keys()).filter(key => key === '{q}:leases' || key === '{q}:bell')
    if (left.length > 0) await it_.redis.del(...left.map(key => `${it_.namespace}:${key}`))
  })

describe('a killed worker', () => {
  it('costs an idempotent call nothing but time: another worker runs it', async () => {
    forgetKilled()
    const workers = [await start(), await start()]
    const call = it_.hub().call('again:1.0', { n: 1, ms: 500 }, { timeoutMs: 40_000 })
    const runs = (worker: WorkerProcess) => worker.lines.includes('start 1')
    const first = (await eventually(() => workers.find(runs)))!
    const second = workers.find(worker => worker !== first)!
    first.signal('SIGKILL')
    await eventually(() => second.lines.includes('start 1'), 30_000)
    expect(await call).toEqual({ n: 1, pid: second.pid })
  })
})

describe('a caller that gives up', () => {
  it('takes its waiting request out of the list', async () => {
    forgetKilled()
    const worker = await start({ slots: 1 })
    const hub = it_.hub()
    const running = hub.call('again:1.0', { n: 1, ms: 600 })
    await eventually(() => worker.lines.includes('start 1'))
    const cancelled: EventMap['call:cancelled'][] = []
    hub.events.on('call:cancelled', event => cancelled.push(event))
    const controller = new AbortController()
    const waiting = failure(hub.call('again:1.0', { n: 2, ms: 1 }, { signal: controller.signal }))
    const calls = `${it_.namespace}:{q}:calls`
    await eventually(async () => (await it_.redis.llen(calls)) === 1)
    controller.abort()
    expect((await waiting).code).toBe('Aborted')
    await eventually(() => cancelled.length === 1)
    expect(cancelled[0]).toMatchObject({ task: 'again:1.0', removed: true })
    await running
    expect(await hub.call('again:1.0', { n: 3, ms: 1 })).toMatchObject({ n: 3 })
    expect(worker.lines).not.toContain('start 2')
  })

  it('has the signal of a running handler fired, in another process', async () => {
    forgetKilled()
    it_.allowLeftovers()
    const worker = await start()
    const controller = new AbortController()
    const call = failure(it_.hub().call('once:1.0', { n: 1, ms: 20_000 }, { signal: controller.signal }))
    await eventually(() => worker.lines.includes('start 1'))
    controller.abort()
    expect((await call).code).toBe('Aborted')
    await eventually(() => worker.lines.includes('aborted 1 Aborted'))
  })
})
