import type { Request } from './message.ts'

/** How this worker holds a request. */
export interface Held {
  /** The id under which it is held. */
  id: string
  /** Its text, when it is held in the list of what this worker took; undefined when it is in the hash. */
  taken?: string | undefined
}

export const heldOf = ({ heldId, isTaken, text }: Request): Held => ({ id: heldId, taken: isTaken ? text : undefined })

/** A request that ended in this worker. */
export interface Settlement extends Held {
  /** The worker id it was claimed under. */
  workerId: string
  /** Undefined when nobody waits for a reply. */
  hubId: string | undefined
  reply: string
  /** The text of a job that is given up: it is kept with the dead ones before it is released. */
  dead?: string
  /** True when it ran in a slot of this worker, which is idle now. */
  slot: boolean
}
