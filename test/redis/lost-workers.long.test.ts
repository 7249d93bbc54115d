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
  it('ends any other call as WorkerLost, not at its deadline, and it is not started again', async () => {
    forgetKilled()
    const first = await start()
    const second = await start({ slots: 1 })
    const hub = it_.hub()
    const calls = [1, 2, 3].map(n => hub.call('once:1.0', { n, ms: 60_000 }, { timeoutMs: 60_000 }))
    const outcomes = calls.map(call => failure(call))
    await eventually(() => first.lines.length + second.lines.length === 3)
    const held = first.lines.length
    first.signal('SIGKILL')
    const lost = await Promise.race(outcomes)
    expect(lost).toMatchObject({ code: 'WorkerLost', ran: 'maybe' })
    await eventually(async () => (await it_.redis.keys(`${it_.namespace}:{q}:held:*`)).length <= 1)
    expect(second.lines.filter(line => line.startsWith('start')).length).toBe(3 - held)
    await hub.close()
    await Promise.all(outcomes)
    second.signal('SIGTERM')
    second.signal('SIGTERM')
  })

  it('that dies of the call each time is not replaced for ever: the third loss ends it', async () => {
    forgetKilled()
    const args = ['--lease', '2s']
    const workers = await Promise.all(Array.from({ length: 4 }, () => start({ args })))
    const error = await failure(it_.hub().call('crash:1.0', { n: 1 }, { timeoutMs: 60_000 }))
    expect(error).toMatchObject({ code: 'WorkerLost', message: expect.stringMatching(/3 workers .* died/) })
    expect(workers.flatMap(worker => worker.lines)).toEqual(['start 1', 'start 1', 'start 1'])
  }, 40_000)
})

describe('a stopped worker', () => {
  it('that wakes up later has a new identity, aborts what it ran and settles nothing', async () => {
    forgetKilled()
    const zombie = await start()
    const hub = it_.hub()
    const late: EventMap['reply:late'][] = []
    hub.events.on('reply:late', event => late.push(event))
    const outcome = failure(hub.call('once:1.0', { n: 1, ms: 30_000 }, { timeoutMs: 60_000 }))
    await eventually(() => zombie.lines.includes('start 1'))
    const other = await start()
    zombie.signal('SIGSTOP')
    expect(await outcome).toMatchObject({ code: 'WorkerLost' })
    zombie.signal('SIGCONT')
    await eventually(() => zombie.lines.some(line => line.startsWith('aborted 1')), 30_000)
    expect(late).toEqual([])
    expect(await hub.call('once:1.0', { n: 2, ms: 1 }, { timeoutMs: 30_000 })).toMatchObject({ n: 2 })
    expect(other.lines).not.toContain('start 1')
  }, 90_000)
})
