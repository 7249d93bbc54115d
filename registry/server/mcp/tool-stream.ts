import { type HubStream, stringifyExact } from 'pshub'
import type { ToolProgress } from './tool-progress.ts'

/**
 * Reads a stream to its end, and tells the client of each chunk. Resolves to what a caller gets who asks for no stream: what the handler
 * returned, or where that is nothing the list. A list with more than `maxBytes` of JSON is not kept: then it rejects with `tooLarge`.
 */
export const readWhole = async (
  stream: HubStream<unknown, unknown>,
  maxBytes: number,
  progress: ToolProgress,
  tooLarge: (bytes: number) => Error,
): Promise<unknown> => {
  let chunks: unknown[] = []
  let count = 0
  let bytes = 1
  for (;;) {
    const step = await stream.next()
    if (step.done) {
      if (step.value === null && bytes > maxBytes) throw tooLarge(bytes)
      return step.value ?? chunks
    }
    const text = stringifyExact(step.value)
    bytes += Buffer.byteLength(text) + 1
    if (bytes <= maxBytes) chunks.push(step.value)
    else chunks = []
    await progress.onChunk(++count, step.value, text)
  }
}
