import type { Place, Redis } from '../redis/connection.ts'
import { ConnectionLost, isTransient } from '../redis/failures.ts'
import { backoffMs, monotonicMs, sleep } from '../wire/clock.ts'
import { pushMemoryMs } from './queue.ts'

/** How a numbered batch ended. */
export type Delivered<T> =
  | { answer: T }
  /** Redis answered with an error, so none of the batch is there. */
  | { refused: Error }
  /** Its answer was lost, and Redis can no longer tell whether it arrived. */
  | 'unknown'
  /** Nobody waits for it any more, or this process ends. */
  | 'over'

export interface NumberedBatch<T> {
  connection: Place
  closing: AbortSignal
  /** What to send now, or undefined when nobody waits for it any more. Once a try was lost it must be the same batch. */
  prepare(wasLost: boolean): ((client: Redis) => Promise<T>) | undefined
  /** A try failed. `wasLost`: one of them may have arrived. */
  onSetback(error: Error, wasLost: boolean): void
}

/**
 * Sends a batch under its number until its outcome is known: when an answer is lost the same is sent again, and Redis knows by the
 * number whether it had arrived.
 */
export const deliverNumbered = async <T>(batch: NumberedBatch<T>): Promise<Delivered<T>> => {
  const { connection, closing, prepare, onSetback } = batch
  const firstTry = monotonicMs()
  let wasLost = false
  for (let attempt = 0; ; attempt++) {
    const send = prepare(wasLost)
    if (!send || closing.aborted) return 'over'
    // The number may be forgotten soon; repeating it after that could do it twice.
    if (wasLost && monotonicMs() - firstTry > pushMemoryMs / 2) return 'unknown'
    try {
      return { answer: await connection.send(send) }
    } catch (error) {
      wasLost ||= error instanceof ConnectionLost
      onSetback(error as Error, wasLost)
      if (!isTransient(error)) return wasLost ? 'unknown' : { refused: error as Error }
    }
    await sleep(backoffMs(attempt, 10, 500), closing)
    await connection.whenReady(closing)
  }
}
