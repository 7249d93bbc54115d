/** How long each part of a call took, in microseconds. Backlog is on Redis' clock; the others on the worker's. */
export interface Phases {
  /** From the push to the claim: no slot was idle. */
  backlog: number
  /** From the claim's arrival to the handler's start: near 0, unless the worker's event loop was blocked. */
  queue: number
  /** The handler. */
  exec: number
}

/** The same as the caller saw it. */
export interface CallPhases extends Phases {
  /** What is left of the total: the push and the way back; at first the connection and the name's look-up; earlier tries. */
  reply: number
  /** The caller's whole wait. */
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
