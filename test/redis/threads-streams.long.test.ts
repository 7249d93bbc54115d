import { describe, expect, it } from 'vitest'
import { failure, useRedis } from '../support/hub-fixture.ts'
import { useThreads } from '../support/threaded-worker.ts'

const it_ = useRedis()
const { file, startWorker, written } = useThreads(it_)

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

  it('that dies fails behind its chunks', async () => {
    await startWorker()
    const { chunks, code, message } = await broken(it_.hub().stream('yielding:1.0', { how: 'dies' }))
    expect(chunks).toHaveLength(2)
    expect({ code, message }).toMatchObject({
      code: 'TaskFailed',
      message: expect.stringMatching(/The thread that ran yielding:1\.0 died: .*exited with code: 7/),
    })
  })
})
