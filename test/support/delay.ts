import { setTimeout } from 'node:timers/promises'

/** A deliberate wait in a test. `why` says which real time passes here and why no event can be awaited instead. */
export const delay = (ms: number, _why: string): Promise<void> => setTimeout(ms)
