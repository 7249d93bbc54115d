/** What a hub remembers. */
export interface HubModel {
  readonly id: string
  number: number
  /** The last push as it was sent, while it may be repeated. */
  last: { messages: string[]; maxLength: number } | undefined
}

/** What a worker's process believes; Redis knows nothing of it. */
export interface WorkerModel {
  readonly name: string
  /** Its present identity. */
  id: string
  incarnation: number
  /** The next beat is the first one under this identity. */
  isNew: boolean
  /** What it runs or is about to put back: held id -> request. */
  readonly knows: Map<string, string>
  /** What it released, under which identity: a failover can bring it back. */
  readonly released: Map<string, { text: string; as: string }>
  /** What its last look found unknown. */
  suspects: Set<string>
  /** The identity before, and what it knew of then. */
  former: { id: string; knew: [heldId: string, text: string][] } | undefined
}

/** The connection that it waits on; the one for all other commands has its name. */
export const blockingOf = ({ name }: WorkerModel): string => `${name} blocking`

export const makeWorker = (name: string): WorkerModel => ({
  name,
  id: `${name}-1`,
  incarnation: 1,
  isNew: true,
  knows: new Map(),
  released: new Map(),
  suspects: new Set(),
  former: undefined,
})

/** The process restarted, or learned that its lease is lost. */
export const becomeNew = (worker: WorkerModel): void => {
  worker.former = { id: worker.id, knew: [...worker.knows] }
  worker.id = `${worker.name}-${++worker.incarnation}`
  worker.isNew = true
  worker.knows.clear()
}
