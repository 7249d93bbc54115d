import { existsSync, statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { sleep } from '../../src/wire/clock.ts'
import { streamWindow } from '../../src/wire/stream.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'
import { useThreads } from '../support/threaded-worker.ts'

const it_ = useRedis()
const { file, makeWorker, startWorker, written } = useThreads(it_)

const all = async (stream: AsyncIterable<unknown>): Promise<unknown[]> => {
  const chunks: unknown[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks
}
/** What came before a stream failed, and how it did. */
const broken = async (stream: AsyncIterable<unknown>) => {
  const chunks: unknown[] = []
  const { code, message } = await failure(
    (async () => {
      for await (const chunk of stream) chunks.push(chunk)
    })(),
  )
  return { chunks, code, message }
}

describe('a handler in a thread that yields', () => {
  it.each([0, 1, 1000])('brings all of %i chunks once, in order', async count => {
    await startWorker()
    const stream = it_.hub().stream('counting:1.0', { count })
    const chunks = (await all(stream)) as { n: number }[]
    expect(chunks.map(({ n }) => n)).toEqual(Array.from({ length: count }, (_, at) => at + 1))
    if (count > 0) expect(chunks[0]).toMatchObject({ isMainThread: false })
  })

  it('ends with what it returned, and for others has that or the list as its result', async () => {
    await startWorker()
    const hub = it_.hub()
    const stream = hub.stream('counting:1.0', { count: 1, returned: 'told' })
    await stream.next()
    expect(await stream.next()).toEqual({ done: true, value: 'told' })
    expect(await hub.call('counting:1.0', { count: 1, returned: 'told' })).toBe('told')
    expect(await hub.call('counting:1.0', { count: 2 })).toMatchObject([{ n: 1 }, { n: 2 }])
    expect(await hub.call('counting:1.0', { count: 0 })).toEqual([])
    const job = await hub.enqueue('counting:1.0', { count: 2 }, { keepResultMs: 200 })
    expect(await job.result()).toMatchObject([{ n: 1 }, { n: 2 }])
    await sleep(250)
  })

  it('waits in its thread while its caller does not read, and goes on when it does', async () => {
    // What is stopped is answered all the same, when its hub is gone.
    it_.allowLeftovers()
    await startWorker()
    const yielded = file()
    const stream = it_.hub().stream('endless:1.0', { yielded })
    await stream.next()
    const count = () => (existsSync(yielded) ? statSync(yielded).size : 0)
    await eventually(() => count() >= streamWindow, 10_000)
    await sleep(300)
    // One is on its way from the thread.
    expect(count()).toBeLessThanOrEqual(streamWindow + 2)
    for (let n = 2; n <= 3 * streamWindow; n++) expect((await stream.next()).done).toBe(false)
    expect(count()).toBeLessThanOrEqual(4 * streamWindow + 2)
    await stream.return()
  })

  it('is ended where it waits when the loop of its caller is left, and its thread takes the next', async () => {
    await startWorker()
    const hub = it_.hub()
    const [first, second] = [file(), file()]
    let thread: unknown
    for await (const chunk of hub.stream('endless:1.0', { yielded: first })) {
      thread = chunk
      break
    }
    expect(await written(`${first}-ended`)).toBe(String(thread))
    for await (const chunk of hub.stream('endless:1.0', { yielded: second })) {
      expect(chunk).toBe(thread)
      break
    }
    await written(`${second}-ended`)
  })

  it('is told of the deadline, behind what came before', async () => {
    await startWorker()
    const yielded = file()
    const { chunks, code } = await broken(it_.hub().stream('endless:1.0', { yielded }, { timeoutMs: 3000 }))
    expect(code).toBe('Timeout')
    expect(chunks.length).toBeGreaterThan(0)
    await written(`${yielded}-ended`)
  })

  it('is ended with its thread when it computes on; the next run has another', async () => {
    await startWorker()
    const hub = it_.hub()
    const { chunks, code } = await broken(hub.stream('yielding:1.0', { how: 'computes' }, { timeoutMs: 3000 }))
    expect({ count: chunks.length, code }).toEqual({ count: 2, code: 'Timeout' })
    const next = await broken(hub.stream('yielding:1.0', { how: 'throws' }))
    expect(next).toMatchObject({ code: 'NoLuck' })
    expect(next.chunks[0]).not.toBe(chunks[0])
  })

  it('is ended with its thread when it goes on behind a chunk that cannot travel', async () => {
    await startWorker()
    const hub = it_.hub()
    const { chunks, code } = await broken(hub.stream('yielding:1.0', { how: 'stubborn' }))
    expect(code).toBe('InvalidResult')
    const next = await broken(hub.stream('yielding:1.0', { how: 'throws' }))
    expect(next).toMatchObject({ code: 'NoLuck' })
    expect(next.chunks[0]).not.toBe(chunks[0])
  })

  it.each(['throws', 'bigint', 'large'])('fails behind its chunks as in the main thread: %s', async how => {
    await startWorker()
    const hub = it_.hub()
    const here = await broken(hub.stream('yielding_here:1.0', { how }))
    const inThread = await broken(hub.stream('yielding:1.0', { how }))
    const { code, message } = here
    expect(code).not.toBe('Timeout')
    expect(inThread).toMatchObject({ code, message: message.replace('yielding_here', 'yielding') })
    expect(inThread.chunks).toHaveLength(2)
    const again = await broken(hub.stream('yielding:1.0', { how }))
    expect(again.chunks[0]).toBe(inThread.chunks[0])
  })

  it('that dies fails behind its chunks', async () => {
    await startWorker()
    const { chunks, code, message } = await broken(it_.hub().stream('yielding:1.0', { how: 'dies' }))
    expect(chunks).toHaveLength(2)
    expect({ code, message }).toMatchObject({
      code: 'TaskFailed',
      message: expect.stringMatching(/The thread that ran yielding:1\.0 died: .*exited with code: 7/),
    })
  })

  it('that resolves with a generator is told of that', async () => {
    await startWorker()
    expect(await failure(it_.hub().call('unreadable:1.0'))).toMatchObject({
      code: 'InvalidResult',
      message: expect.stringContaining('async function*'),
    })
  })

  it('fails where a middleware gave it a context of its own, and its thread takes the next', async () => {
    const worker = makeWorker()
    worker.use(next => (request, ctx) => {
      const { id, task, from, attempt, isJob, us, signal, log } = ctx
      const own = { id, task, from, attempt, isJob, us, signal, log, remainingMs: () => 1000 }
      return next(request, { ...own, call: ctx.call.bind(ctx), progress: ctx.progress.bind(ctx) })
    })
    await worker.start()
    const hub = it_.hub()
    const yielded = file()
    for (let n = 0; n < 2; n++)
      expect(await failure(hub.call('endless:1.0', { yielded }))).toMatchObject({
        code: 'TaskFailed',
        message: expect.stringContaining('A middleware gave its handler a context of its own'),
      })
    await written(`${yielded}-ended`)
  })
})
