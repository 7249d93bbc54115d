import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { startWorkerProcess } from '../support/worker-process.ts'

const it_ = useRedis()

/** The same task as a newer worker declares it, which takes no call of the older ones. */
const stricter = (name: string, ran: unknown[]) =>
  defineTask(name, { idempotent: true, args: { type: 'object', required: ['new'] } }, args => ran.push(args))

describe('no caller hears that a call was certainly not run which an earlier worker had started', () => {
  it('when that worker was killed', async () => {
    const worker = await startWorkerProcess(it_.url, it_.namespace)
    it_.onEnd(() => worker.signal('SIGKILL'))
    const answer = failure(it_.hub().call('again:1.0', { n: 1, ms: 60_000 }, { timeoutMs: 15_000 }))
    await eventually(() => worker.lines.includes('start 1'))
    worker.signal('SIGKILL')
    await worker.exited
    await it_.worker([stricter('again:1.0', [])])
    expect(await answer).toMatchObject({ code: 'WorkerLost', ran: 'maybe' })
  }, 20_000)
})
