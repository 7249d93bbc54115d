import { type HubModel, makeWorker, type WorkerModel } from './processes.ts'
import { listOf, nameOf, type Place, taskOf } from './requests.ts'
import type { Situation } from './situations.ts'

export type ListName = 'calls' | 'jobs'

/** One list and its bell. */
export interface Waiting {
  texts: string[]
  bell: boolean
  /** It may hold requests without a token in the bell: pushed by hand, or the token went to a worker without lease. */
  mayBeSilent: boolean
}

/** What a queue's keys hold, in plain data, and where each request is: in a list, held by a worker, or over. */
export class Holdings {
  readonly lists: Record<ListName, Waiting> = {
    calls: { texts: [], bell: false, mayBeSilent: false },
    jobs: { texts: [], bell: false, mayBeSilent: false },
  }
  /** Jobs that were given up. */
  readonly dead: string[] = []
  /** Worker id -> held id -> request. */
  readonly held = new Map<string, Map<string, string>>()
  /** Worker id -> end of its lease, Redis milliseconds; 0: given up or being adopted from. */
  readonly leases = new Map<string, number>()
  readonly cancelled = new Map<string, number>()
  /** Who reports the queue, and until when, Redis milliseconds. */
  reporter: { id: string; untilMs: number } | undefined
  /** Since when the queue is paused, Redis milliseconds. */
  pausedMs: number | undefined
  /** Redis milliseconds from which on the words of callers who gave up may be gone all together. */
  cancelledUntilMs = 0
  readonly pushed = new Map<string, { number: number; accepted: number; at: string }>()
  readonly replies = new Map<string, string[]>()
  /** Redis refuses whatever grows. */
  isFull = false
  /** Redis' clock as last read, microseconds. */
  nowUs = 0

  /** Each request that ever got into the list: where it must be now. */
  readonly places = new Map<string, Place>()
  /** How often a request of a task that must not run twice was started. */
  readonly starts = new Map<string, number>()
  readonly workers: WorkerModel[] = ['a', 'b', 'c'].map(makeWorker)
  readonly hubs: HubModel[] = ['h0', 'h1'].map(id => ({ id, number: 0, last: undefined }))
  readonly situations = new Set<Situation>()
  #requests = 0

  nextRequestId(): string {
    return `r${++this.#requests}`
  }

  leaseHolds(workerId: string): boolean {
    return (this.leases.get(workerId) ?? -1) * 1000 >= this.nowUs
  }

  heldBy(workerId: string): Map<string, string> {
    return this.held.get(workerId) ?? new Map()
  }

  /** A plain RPUSH by somebody without functions, with or without the two commands for the bell. */
  pushByHand(name: ListName, text: string, rings: boolean): void {
    this.arrive(name, [text])
    if (rings) this.lists[name].bell = true
    else this.lists[name].mayBeSilent = true
  }

  /** A replica was promoted that had not heard of a release: the request is held again. */
  forgetRelease(worker: WorkerModel, id: string): void {
    this.hold(worker.id, id, worker.released.get(id)!.text)
  }

  release(workerId: string, ids: string[]): void {
    for (const id of ids) {
      const text = this.letGo(workerId, id)
      if (text !== undefined) this.places.set(nameOf(text), 'released')
    }
  }

  handback(workerId: string, side: 'head' | 'tail', ids: string[]): number {
    // From the last to the first at the head, so that an id given twice goes back where it comes last.
    const order = side === 'head' ? [...ids].reverse() : ids
    let returned = 0
    for (const id of order) {
      const held = this.letGo(workerId, id)
      if (held === undefined) continue
      const list = this.lists[listOf(id)]
      if (side === 'head') list.texts.unshift(held)
      else list.texts.push(held)
      list.bell = true
      if (listOf(id) === 'jobs') this.situations.add('a job handed back')
      this.places.set(nameOf(held), 'list')
      returned++
    }
    return returned
  }

  /** The worker's process hears of a request and starts it, unless it has no such task. */
  start(worker: WorkerModel, heldId: string, text: string): void {
    worker.knows.set(heldId, text)
    // A job runs until it is done, however often its workers die.
    if (taskOf(text) === 'once:1.0' && listOf(heldId) === 'calls')
      this.starts.set(nameOf(text), (this.starts.get(nameOf(text)) ?? 0) + 1)
  }

  protected arrive(name: ListName, texts: string[]): void {
    this.lists[name].texts.push(...texts)
    for (const text of texts) this.places.set(nameOf(text), 'list')
  }

  protected hold(workerId: string, id: string, text: string): void {
    if (!this.held.has(workerId)) this.held.set(workerId, new Map())
    this.held.get(workerId)!.set(id, text)
    this.places.set(nameOf(text), 'held')
  }

  protected letGo(workerId: string, id: string): string | undefined {
    const held = this.heldBy(workerId)
    const text = held.get(id)
    held.delete(id)
    if (held.size === 0) this.held.delete(workerId)
    return text
  }
}
