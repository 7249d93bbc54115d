import { describe, expect, it } from 'vitest'
import { failure, useRedis } from '../support/hub-fixture.ts'
import { useThreads } from '../support/threaded-worker.ts'

const it_ = useRedis()
const { file, makeWorker, startWorker, written } = useThreads(it_)

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
