/** Time of each part of a call in microseconds. Backlog is measured on the clock of Redis, the others on that of the worker. */
export interface Phases {
  /** From the push to the claim: no slot was idle. */
  backlog: number
  /** From the claim's arrival to the handler's start: near 0, unless the worker's event loop was blocked. */
  queue: number
  /** The handler. */
  exec: number
}

/** The same as measured by the caller. */
export interface CallPhases extends Phases {
  /** The rest of the total: the push and the way back, the first connection and look-up, and earlier tries. */
  reply: number
  /** The whole wait of the caller. */
  total: number
}

/** The parts of a wait of `totalMs`; its worker told all but the caller's own. */
export const callPhases = ({ backlog, queue, exec }: Phases, totalMs: number): CallPhases => {
  const total = Math.round(totalMs * 1000)
  return { backlog, queue, exec, reply: Math.max(0, total - backlog - queue - exec), total }
}

/** Whether what a worker told can be reckoned with; it may be a program of any language. */
export const arePhases = (us: Phases | null): boolean =>
  us !== null && isDuration(us.backlog) && isDuration(us.queue) && isDuration(us.exec)

const isDuration = (us: unknown): boolean => Number.isFinite(us) && (us as number) >= 0
