import type { Backoff } from '../wire/job-part.ts'

/** A job is tried again so often, unless it or its task says otherwise. */
export const defaultRetries = 25

const firstMs = 1000
const dayMs = 24 * 3600 * 1000

/**
 * Milliseconds until the next try, after `failures` of them (1 is the first).
 * @param random 0 to 1
 */
export const delayAfter = (backoff: Backoff, failures: number, random: number = Math.random()): number => {
  const n = failures - 1
  if (typeof backoff === 'number') return backoff
  if (backoff === 'polynomial') return Math.round((n ** 4 + 15 + random * 30 * (n + 1)) * 1000)
  if (backoff === 'exponential') {
    const full = Math.min(dayMs, firstMs * 2 ** Math.min(n, 30))
    return Math.round(full / 2 + (full / 2) * random)
  }
  return backoff[Math.min(n, backoff.length - 1)] ?? 0
}
