/** A request that ended in this worker. */
export interface Settlement {
  /** Its id in the held hash. */
  id: string
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
