import type { Failure } from '../run/finished.ts'

/** Whether the handler was started, in plain words. */
export const ranText = ({ ran }: Failure): string | undefined =>
  ran && { no: 'It did not run.', maybe: 'It may have run.', yes: 'It ran.' }[ran]

/** Whether it is safe and of use to do the same again. */
export const repeatText = (failure: Failure, isIdempotent: boolean): string | undefined => {
  const { ran, retryable } = failure
  if (ran === undefined) return undefined
  if (ran === 'no')
    return retryable
      ? 'It is safe to run again, and may succeed.'
      : 'It is safe to run again, but will fail the same way until something changes.'
  if (isIdempotent)
    return retryable || ran === 'maybe'
      ? 'It is safe to run again, because the task is declared idempotent.'
      : 'It is safe to run again, because the task is declared idempotent, but it will probably fail again.'
  return ran === 'maybe'
    ? 'The task is not declared idempotent: check first what it did, because another run may do it twice.'
    : 'The task is not declared idempotent: another run repeats everything it did before it failed.'
}

/** What the registry's own refusals mean; those of calls come with their meaning from the error table. */
const ownMeanings: Partial<Record<Failure['code'], string>> = {
  Unauthorized: 'You are no longer logged in. Reload the page to log in.',
  Forbidden: 'You are logged in, but may not run tasks here.',
  TooManyRequests: 'You started more runs than the registry allows. Wait a moment.',
  BadRequest: 'The registry did not understand the request.',
  NotFound: 'The registry knows no such task, or its gateway is off.',
  Internal: 'Something went wrong between this page and the registry, not in the task.',
}

/** A code of the worker's own is all that its title says. */
export const meaningOf = ({ code, title }: Failure): string | undefined =>
  ownMeanings[code] ?? (title === code ? undefined : title)
