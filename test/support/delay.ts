import { setTimeout } from 'node:timers/promises'

/**
 * A deliberate wait in a test. `why` says which real time passes here and why no event can be awaited instead. Ends early, without an
 * error, when the signal fires.
 */
export const delay = (ms: number, _why: string, signal?: AbortSignal): Promise<void> =>
  setTimeout(ms, undefined, signal ? { signal } : {}).catch(() => undefined)
