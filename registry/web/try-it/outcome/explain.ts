import type { Failure } from '../run/finished.ts'

/** Whether the handler was started, in plain words. */
export const ranText = ({ ran }: Failure): string | undefined =>
  ran && { no: 'It certainly did not run.', maybe: 'It may have run.', yes: 'It ran.' }[ran]

/** Whether it is safe and of use to do the same again. */
export const repeatText = (failure: Failure, isIdempotent: boolean): string | undefined => {
  const { ran, retryable } = failure
  if (ran === undefined) return undefined
  if (ran === 'no')
    return retryable
      ? 'Running it again is safe, and may succeed.'
      : 'Running it again is safe, but fails the same way until something is changed.'
  if (isIdempotent)
    return retryable || ran === 'maybe'
      ? 'Running it again is safe, because the task is declared idempotent.'
      : 'Running it again is safe, because the task is declared idempotent, but will hardly help.'
  return ran === 'maybe'
    ? 'The task is not declared idempotent: check first what it did, because running it again may do it twice.'
    : 'The task is not declared idempotent: running it again does everything again that it did before it failed.'
}

/** What the registry's own refusals mean; those of calls come with their meaning from the error table. */
const ownMeanings: Partial<Record<Failure['code'], string>> = {
  Unauthorized: 'You are no longer signed in. Load the page again to sign in.',
  Forbidden: 'You are signed in, but may not run tasks here.',
  TooManyRequests: 'More runs were asked for than the registry lets through. Wait a little.',
  BadRequest: 'The registry did not understand the request.',
  NotFound: 'The registry knows no such task, or its gateway is switched off.',
  Internal: 'Something went wrong between this page and the registry, not in the task.',
}

/** A code of the worker's own is all that its title says. */
export const meaningOf = ({ code, title }: Failure): string | undefined =>
  ownMeanings[code] ?? (title === code ? undefined : title)
