import { existsSync, statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { streamWindow } from '../../src/wire/stream.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { useThreads } from '../support/threaded-worker.ts'

const it_ = useRedis()
const { file, startWorker, written } = useThreads(it_)

const all = async (stream: AsyncIterable<unknown>): Promise<unknown[]> => {
  const chunks: unknown[] = []
  for await (const chunk of stream) chunks.push(chunk)
  return chunks
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
    it_.allowLeftovers()
  })

  it('waits in its thread while its caller does not read, and goes on when it does', async () => {
    // What is stopped is answered all the same, when its hub is gone.
    it_.allowLeftovers()
    await startWorker()
    const yielded = file()
    const hub = it_.hub()
    const stream = hub.stream('endless:1.0', { yielded })
    await stream.next()
    const count = () => (existsSync(yielded) ? statSync(yielded).size : 0)
    await eventually(() => count() >= streamWindow, 30_000)
    // It would go on while others are answered.
    for (let n = 0; n < 20; n++) await hub.call('counting:1.0', { count: 1 })
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
})
