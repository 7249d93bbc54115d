import type { TaskMiddleware } from '../../task/task.ts'
import { PutOff } from '../../wire/errors.ts'
import { asked, checkSharing, checkWhole, type Sharing, sharedName } from './shared-name.ts'

/** How many runs may start in which period. */
export interface RateLimitOptions extends Sharing {
  /** Maximum number of starts per period, 1 to 10000. */
  limit: number
  /** Milliseconds, 10 to a day. */
  periodMs: number
}

/**
 * Middleware: starts at most `limit` runs in any `periodMs` across all workers, of a task or of requests with the same
 * key. A job beyond the limit waits for room, which does not count as a try; the order is not kept. A call fails at
 * once as `Overloaded`, with `data.retryAfterMs`.
 *
 * @throws ConfigError
 */
export const rateLimit = (options: RateLimitOptions): TaskMiddleware => {
  checkSharing('rateLimit', options, ['limit', 'periodMs'])
  const { limit, periodMs } = options
  checkWhole('rateLimit', 'limit', limit, 1, 10_000)
  checkWhole('rateLimit', 'periodMs', periodMs, 10, 24 * 3600 * 1000)
  return (next, guards) => (request, ctx) => {
    const name = sharedName(options, request)
    if (name === undefined) return next(request, ctx)
    return asked(guards.admit(name, limit, periodMs, ctx.isJob)).then(waitMs => {
      if (waitMs > 0)
        throw new PutOff(
          waitMs,
          `The rate limit of ${name} is reached: ${limit} runs started in the last ${periodMs} ms.`,
        )
      return next(request, ctx)
    })
  }
}
