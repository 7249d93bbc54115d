import type { TaskMiddleware } from '../../task/task.ts'
import { PutOff } from '../../wire/errors.ts'
import { asked, checkSharing, checkWhole, type Sharing, sharedName } from './shared-name.ts'

/** How many may begin in which time. */
export interface RateLimitOptions extends Sharing {
  /** How many may begin in a period, 1 to 10000. */
  limit: number
  /** Milliseconds, 10 to a day. */
  periodMs: number
}

/**
 * At most `limit` begin in any stretch of `periodMs`, across all workers: of a task, or of those requests of it with the same key. A job
 * beyond that goes back to wait until there is room for it, and that counts as no try; the order is not kept. A call fails at once as
 * `Overloaded`, with `data.retryAfterMs`.
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
