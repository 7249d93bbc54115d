import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { failure, useRedis } from '../support/hub-fixture.ts'
import { useThreads } from '../support/threaded-worker.ts'

const it_ = useRedis()
const { file, startWorker, written } = useThreads(it_)

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
})

describe('a run that is given up', () => {
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
    // It would beat many times while another run comes and goes.
    await hub.call('single:1.0', { begun: file(), until: begun })
    expect(statSync(beats).size).toBe(size)
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
})

describe('stop()', () => {
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
