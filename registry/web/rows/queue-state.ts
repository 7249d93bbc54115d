import type { QueueRow } from '../../contract.ts'

/** Redis' milliseconds since when a queue is paused; undefined when it is not. */
export const pausedSinceMs = (row: QueueRow): number | undefined => {
  const { pausedMs } = row as { pausedMs?: unknown }
  return typeof pausedMs === 'number' && pausedMs > 0 ? pausedMs : undefined
}

/** A backlog this old, while it lengthens, is no burst any more. */
const oldMs = 1000

/** Clearly longer than some minutes ago, and old: the workers do not keep up. A backlog that goes up and down a little is steady. */
export const isGrowing = ({ backlog, oldestMs, trend }: QueueRow): boolean => {
  if (backlog === 0 || (oldestMs ?? 0) < oldMs) return false
  const before = trend.slice(-6).find(value => value !== null)
  return before !== undefined && before !== null && backlog > before * 1.2 + 1
}
