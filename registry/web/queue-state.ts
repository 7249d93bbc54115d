import type { QueueRow } from '../contract.ts'

/** Redis' milliseconds since when a queue is paused; undefined when it is not. */
export const pausedSinceMs = (row: QueueRow): number | undefined => {
  const { pausedMs } = row as { pausedMs?: unknown }
  return typeof pausedMs === 'number' && pausedMs > 0 ? pausedMs : undefined
}
