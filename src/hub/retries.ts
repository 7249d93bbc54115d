import type { HubError } from '../wire/errors.ts'

/** Tries of one call, the first included. */
export const maxTries = 3
/** Retries per call over time, so that they add a tenth to the load at most, however much fails. */
const perCall = 0.1
/** So many are saved up for a short trouble. */
const most = 10

/**
 * Whether a failed call may be sent again without harm: when it certainly did not reach Redis, or when its task may run
 * twice. Not after WorkerLost: an idempotent call whose worker died was run elsewhere already, and ends so only when it
 * took several workers with it. Not when the deadline has passed or the queue is overloaded: more load would not help.
 */
export const mayRetry = (error: HubError, idempotent: boolean): boolean => {
  if (error.code === 'NotEnqueued') return true
  return idempotent && (error.code === 'OutcomeUnknown' || (error.kind === 'TaskFailed' && error.retryable))
}

/** What all calls of a hub may spend on retries: a token bucket that calls fill (SRE book, "Handling Overload"). */
export class RetryBudget {
  #tokens = most

  onCall(): void {
    this.#tokens = Math.min(most, this.#tokens + perCall)
  }

  /** False when the budget is used up. */
  take(): boolean {
    if (this.#tokens < 1) return false
    this.#tokens--
    return true
  }
}
