import { expect, it } from 'vitest'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { startWorkerProcess } from '../support/worker-process.ts'

/** Processes that die. What becomes of their work is in in-memory-contract and in the faults. */
const it_ = useRedis()

it('of a killed worker an idempotent call runs again elsewhere, and any other one ends as WorkerLost', async () => {
  const first = await startWorkerProcess(it_.url, it_.namespace, { args: ['--lease', '2s'] })
  const hub = it_.hub()
  const once = failure(hub.call('once:1.0', { n: 1, ms: 60_000 }, { timeoutMs: 300_000 }))
  const again = hub.call('again:1.0', { n: 2, ms: 3000 }, { timeoutMs: 300_000 })
  await eventually(() => first.lines.length === 2, 30_000)
  const second = await startWorkerProcess(it_.url, it_.namespace)
  it_.onEnd(async () => {
    for (const worker of [first, second]) worker.signal('SIGKILL')
    await second.exited
    await it_.redis.del(`${it_.namespace}:{q}:leases`, `${it_.namespace}:{q}:bell`)
  })
  first.signal('SIGKILL')
  expect(await once).toMatchObject({ code: 'WorkerLost', ran: 'maybe' })
  // Its worker cannot count it any more, and the one that adopted it did not run it.
  await eventually(async () => (await hub.overview()).load.failed.WorkerLost === 1)
  expect(await again).toEqual({ n: 2, pid: second.pid })
  expect(second.lines).toEqual(['start 2', 'end 2'])
  await eventually(async () => (await it_.keys()).every(key => !key.includes(':held:')))
}, 90_000)
