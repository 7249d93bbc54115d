import { defineTask, type HubError } from '../../src/index.ts'
import { delay } from './delay.ts'

/** A task that yields 1 to `count`, `ms` after each other; the first one after `firstMs`. */
export const counting = defineTask('count:1.0', { timeoutMs: 60_000 }, async function* (given, ctx) {
  const { count, ms = 0, firstMs = 0 } = given as { count: number; ms?: number; firstMs?: number }
  if (firstMs > 0) await delay(firstMs, 'how long a test wants it to take', ctx.signal)
  for (let n = 1; n <= count && !ctx.signal.aborted; n++) {
    yield n
    if (ms > 0 || n % 20 === 0) await delay(ms, 'how long a test wants it to take', ctx.signal)
  }
})

/** What was read of a stream, and how it ended; `onChunk` may do something in between. */
export const readAll = async (stream: AsyncIterable<number>, onChunk?: (chunk: number) => unknown) => {
  const chunks: number[] = []
  let error: HubError | undefined
  try {
    for await (const chunk of stream) {
      chunks.push(chunk)
      await onChunk?.(chunk)
    }
  } catch (thrown) {
    error = thrown as HubError
  }
  return { chunks, error }
}

export const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1)
