import type { JobEnd } from '../queue/job-queue.ts'
import type { Slot } from './slots.ts'

/*
 * What a worker holds, and under which ids: a call under its own, a job under job:<id>, and what was adopted under lost:<id> or
 * lost:job:<id>. Functions that put something back know its list by that; nobody else reads these prefixes.
 */

/** Whether it was taken over from a lost worker, and may have been started there. */
export const isHeldLost = (heldId: string): boolean => heldId.startsWith('lost:')

/** The id without what it is held as. */
export const plainId = (heldId: string): string => heldId.replace(/^(lost:)?(job:)?/, '')

/** A request that ended in this worker. */
export interface Settlement {
  /** The id under which it is held. */
  id: string
  /** The worker id it was claimed under. */
  workerId: string
  /** Undefined when nobody waits for a reply. */
  hubId: string | undefined
  reply: string
  /** How a job ended, unless all that is left to do is to release it. */
  job?: JobEnd | undefined
  /** What it ran in; undefined for what did not run. */
  slot: Slot | undefined
}
