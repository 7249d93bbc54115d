import { once } from 'node:events'
import type { Hub } from '../hub/hub.ts'
import type { Output } from './output.ts'
import type { ToldProgress } from './progress.ts'

/**
 * Prints what a task yields as it comes, each chunk as a line of JSON on stdout, no faster than that is read. Resolves to what the handler
 * returned; to undefined where nobody reads any more, which ends the task as well. Rejects as the stream does.
 */
export const writeChunks = async (
  stream: ReturnType<Hub['stream']>,
  { out, each }: Output,
  told: ToldProgress | undefined,
  interrupt: AbortSignal,
): Promise<unknown> => {
  const interrupted = once(interrupt, 'abort').then(() => true)
  for (;;) {
    const step = await stream.next()
    if (step.done) return step.value
    if (interrupt.aborted) continue
    let written: Promise<boolean> | undefined
    const write = () => {
      written = each(step.value)
    }
    if (told && out.isTerminal) told.above(write)
    else write()
    // Whoever reads may stand still. Of a stream that was interrupted the steps end with that.
    if (await Promise.race([written, interrupted])) continue
    await stream.return()
    return undefined
  }
}
