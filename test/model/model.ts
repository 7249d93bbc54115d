import assert from 'node:assert/strict'
import type { ClaimOptions } from '../../src/queue/queue.ts'
import type { Adopted, Beat, Claimed, Pushed } from '../../src/wire/answers.ts'
import { type HubModel, makeWorker, type WorkerModel } from './processes.ts'
import {
  addressOf,
  type Fate,
  fateOf,
  heldIdOf,
  leadingIdOf,
  listOf,
  lossesOf,
  mayRepeat,
  nameOf,
  type Place,
  spareUsOf,
  taskOf,
  withMark,
  withTtlLess,
} from './requests.ts'
import type { Situation } from './situations.ts'

export type ListName = 'calls' | 'jobs'

/** One list and its bell. */
export interface Waiting {
  texts: string[]
  bell: boolean
  /** It may hold requests without a token in the bell: pushed by hand, or the token went to a worker without lease. */
  mayBeSilent: boolean
}

/**
 * What a queue's keys in Redis should hold, and what each function should do to them and answer: the contract of
 * PROTOCOL.md in plain data. Nothing here knows Redis. What only Redis can know (its time, a name it makes up, the order
 * of a hash) is handed in from its answers.
 *
 * `push` and `claim` are the two rules about what is let in and what is let out; nothing else repeats them.
 */
export class Model {
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

  /** `countedAtUs`: when the hub counted the ttls, by Redis' clock, or 0; `at` is when the push arrived. */
  push(hubId: string, number: number, maxLength: number, messages: string[], countedAtUs: number, at: string): Pushed {
    const { length } = this.lists.calls.texts
    const last = this.pushed.get(hubId)
    if (last && last.number >= number) {
      this.situations.add(last.number > number ? 'a late push' : 'a repeated push')
      return { accepted: last.number === number ? last.accepted : 0, length, at: last.at, repeated: true, lateMs: 0 }
    }
    const accepted = Math.max(0, Math.min(messages.length, maxLength - length))
    if (accepted < messages.length) this.situations.add('a push over the limit')
    this.pushed.set(hubId, { number, accepted, at })
    const onItsWayMs = countedAtUs === 0 ? 0 : Math.floor((Number(at) - countedAtUs) / 1000)
    const lateMs = onItsWayMs < 2 ? 0 : onItsWayMs
    if (lateMs > 0 && accepted > 0) this.situations.add('a push long on its way')
    const texts = messages.slice(0, accepted).map(message => `{"at":${at},${withTtlLess(message, lateMs)}`)
    this.#arrive('calls', texts)
    if (accepted > 0) this.lists.calls.bell = true
    return { accepted, length, at, repeated: false, lateMs }
  }

  /** `bytes`: beyond these nothing more is taken. */
  claim(
    workerId: string,
    { slots, jobs }: ClaimOptions,
    bytes: number,
    makeUpId: (position: number) => string,
  ): Claimed | undefined {
    if (!this.leaseHolds(workerId)) {
      this.situations.add('a claim without a lease')
      return undefined
    }
    const requests: Claimed['requests'] = []
    let bytesLeft = bytes
    let expired = 0
    const take = (list: ListName, most: number) => {
      const { texts } = this.lists[list]
      while (requests.length < most && bytesLeft > 0 && texts.length > 0) takeOne(list, texts.shift()!)
    }
    const takeOne = (list: ListName, text: string) => {
      // A job that nobody wants any more is ended by its worker.
      if (list === 'calls' && spareUsOf(text, this.nowUs) <= 0) {
        expired++
        this.places.set(nameOf(text), 'dropped')
        this.situations.add('an expired request')
        return
      }
      bytesLeft -= Buffer.byteLength(text)
      const id = leadingIdOf(text)
      const madeUpId = id === undefined ? makeUpId(requests.length) : undefined
      const isJob = list === 'jobs'
      this.#hold(workerId, heldIdOf(id ?? madeUpId!, isJob), text)
      requests.push({ text, madeUpId, isJob })
    }
    take('calls', slots)
    if (jobs > 0) {
      const { texts } = this.lists.jobs
      if (requests.length === slots && texts.length > 0) this.situations.add('no slot for a job')
      const before = requests.length
      take('jobs', Math.min(slots, before + jobs))
      if (before > 0 && requests.length > before) this.situations.add('calls and jobs claimed together')
      if (requests.length === before + jobs && texts.length > 0) this.situations.add('more jobs than there is room for')
    }
    const left = this.lists.calls.texts.length
    const jobsLeft = jobs > 0 ? this.lists.jobs.texts.length : 0
    if (left > 0) this.lists.calls.bell = true
    if (jobsLeft > 0) this.lists.jobs.bell = true
    if (bytesLeft <= 0 && left + jobsLeft > 0) this.situations.add('a claim bounded by bytes')
    if (this.isFull && requests.length > 0) this.situations.add('a claim from a full Redis')
    return { nowUs: this.nowUs, left, jobsLeft, expired, requests }
  }

  /** A plain RPUSH by somebody without functions, with or without the two commands for the bell. */
  pushByHand(name: ListName, text: string, rings: boolean): void {
    this.#arrive(name, [text])
    if (rings) this.lists[name].bell = true
    else this.lists[name].mayBeSilent = true
  }

  beat(workerId: string, isNew: boolean, leaseMs: number, memoryMs: number, reportsMs: number): Beat {
    const nowMs = Math.floor(this.nowUs / 1000)
    for (const [id, at] of this.cancelled) if (at <= nowMs - memoryMs) this.cancelled.delete(id)
    const lease = this.leases.get(workerId)
    const { nowUs, pausedMs } = this
    const lost = {
      nowUs,
      held: false,
      cancelled: [],
      ended: [],
      figures: undefined,
      pausedMs: undefined,
      dueMs: undefined,
      tickMs: undefined,
      askedBy: undefined,
    }
    if (!isNew && !lease) return lost
    if (pausedMs !== undefined) this.situations.add(isNew ? 'a lease taken in a pause' : 'a lease renewed in a pause')
    if (!isNew && !this.leaseHolds(workerId)) this.situations.add('a lease renewed after its end')
    this.leases.set(workerId, nowMs + leaseMs)
    const ended = [...this.leases]
      .filter(([, end]) => end < nowMs)
      .sort(([a, endA], [b, endB]) => endA - endB || (a < b ? -1 : 1))
      .map(([id]) => id)
    const cancelled = [...this.cancelled.keys()].sort()
    return {
      nowUs,
      held: true,
      cancelled,
      ended: ended.slice(0, 16),
      figures: this.#report(workerId, reportsMs),
      pausedMs,
      dueMs: undefined,
      tickMs: undefined,
      askedBy: undefined,
    }
  }

  /** An earlier pause goes on with its own time. */
  pause(nowMs: number): { pausedMs: number; wasPaused: boolean } {
    const wasPaused = this.pausedMs !== undefined
    if (wasPaused) this.situations.add('paused twice')
    this.pausedMs ??= nowMs
    return { pausedMs: this.pausedMs, wasPaused }
  }

  resume(): boolean {
    const wasPaused = this.pausedMs !== undefined
    if (wasPaused) this.situations.add('a pause ended')
    this.pausedMs = undefined
    return wasPaused
  }

  #report(workerId: string, reportsMs: number): Beat['figures'] {
    const nowMs = Math.floor(this.nowUs / 1000)
    if (this.reporter && nowMs >= this.reporter.untilMs) this.reporter = undefined
    if (reportsMs === 0) return undefined
    if (this.reporter && this.reporter.id !== workerId) {
      this.situations.add('reported by another')
      return undefined
    }
    this.reporter = { id: workerId, untilMs: nowMs + reportsMs }
    const { texts } = this.lists.calls
    const [head] = texts
    this.situations.add(head === undefined ? 'an empty queue reported' : 'a backlog reported')
    const jobs = this.lists.jobs.texts
    const ofJobs = {
      waiting: jobs.length,
      oldestMs: this.#ageOf(jobs),
      scheduled: 0,
      retrying: 0,
      dead: this.dead.length,
    }
    return { length: texts.length, oldestMs: this.#ageOf(texts), jobs: ofJobs }
  }

  #ageOf([head]: readonly string[]): number | undefined {
    if (head === undefined) return 0
    const at = /^{"at":(\d+),/.exec(head)?.[1]
    return at === undefined ? undefined : Math.max(0, this.nowUs - Number(at)) / 1000
  }

  /** A replica was promoted that had not heard of a release: the request is held again. */
  forgetRelease(worker: WorkerModel, id: string): void {
    this.#hold(worker.id, id, worker.released.get(id)!.text)
  }

  release(workerId: string, ids: string[]): void {
    for (const id of ids) {
      const text = this.#letGo(workerId, id)
      if (text !== undefined) this.places.set(nameOf(text), 'released')
    }
  }

  reply(hubId: string, replies: string[]): void {
    this.replies.set(hubId, [...(this.replies.get(hubId) ?? []), ...replies])
  }

  handback(workerId: string, side: 'head' | 'tail', ids: string[]): number {
    // From the last to the first at the head, so that an id given twice goes back where it comes last.
    const order = side === 'head' ? [...ids].reverse() : ids
    let returned = 0
    for (const id of order) {
      const held = this.#letGo(workerId, id)
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

  /** `heads` is what Redis then has at the head of each list: the requests come back in the order of the hash. */
  leave(workerId: string, started: string[], heads: Record<ListName, string[]>): number {
    for (const id of started) {
      const text = id.startsWith('lost:') ? undefined : this.#letGo(workerId, id)
      if (text === undefined) continue
      const may = withMark(text, '') !== undefined && mayRepeat(id, text)
      const isMarked = may && listOf(id) === 'calls' && lossesOf(text) === 0
      const marked = isMarked ? withMark(text, '"started":true')! : text
      if (isMarked) this.situations.add('given up and marked')
      this.#hold(workerId, may ? id : `lost:${id}`, may ? marked : text)
    }
    const returning = [...this.heldBy(workerId)].filter(([id]) => !id.startsWith('lost:'))
    for (const name of ['calls', 'jobs'] as const) {
      const texts = returning.filter(([id]) => listOf(id) === name).map(([, text]) => text)
      assert.deepEqual(heads[name].toSorted(), texts.toSorted(), `what a leaving worker puts back to the ${name}`)
      this.lists[name].texts.unshift(...heads[name])
      this.lists[name].bell = this.lists[name].texts.length > 0
    }
    for (const [id, text] of returning) {
      this.#letGo(workerId, id)
      this.places.set(nameOf(text), 'list')
    }
    if (this.heldBy(workerId).size > 0) {
      this.leases.set(workerId, 0)
      this.situations.add('started requests left behind')
    } else this.leases.delete(workerId)
    if (this.reporter?.id === workerId) this.reporter = undefined
    return returning.length
  }

  /**
   * `moved` is which part Redis chose, those first of which it tells, in its order: no more than `limit`, and so many bytes that one
   * request exceeds the bound. It chose between `beforeUs` and the time of this model.
   */
  adopt(
    lostId: string,
    workerId: string,
    { limit, bytes }: { limit: number; bytes: number },
    moved: { id: string; isTold: boolean }[],
    beforeUs: number,
  ): Adopted | undefined {
    if (!this.leaseHolds(workerId) || this.leaseHolds(lostId)) {
      this.situations.add(this.leaseHolds(workerId) ? 'adopting from the living' : 'adopting without a lease')
      return undefined
    }
    const most = Math.min(limit, this.heldBy(lostId).size)
    const sizes = moved.map(({ id }) => Buffer.byteLength(this.heldBy(lostId).get(id) ?? ''))
    const size = sizes.reduce((sum, each) => sum + each, 0)
    assert(moved.length <= most, 'more was adopted than asked for')
    assert(moved.length === 0 || size - Math.max(...sizes) < bytes, 'more bytes were adopted than asked for')
    if (size < bytes) assert.equal(moved.length, most, 'adopted')
    else if (moved.length < most) this.situations.add('an adoption bounded by bytes')
    const adopted: Adopted = { done: false, toAnswer: [], redelivered: [], dead: [], told: [], outs: [] }
    for (const { id, isTold } of moved) {
      const text = this.#letGo(lostId, id)
      assert(text !== undefined, `${id} was not there to be adopted`)
      // What ended in between may have been looked at before.
      this.#meet(workerId, id, text, fateOf(id, text, isTold ? beforeUs : this.nowUs), adopted)
    }
    adopted.done = this.heldBy(lostId).size === 0
    if (adopted.done) this.leases.delete(lostId)
    else if (this.leases.has(lostId)) this.leases.set(lostId, 0)
    if (moved.length > 0) this.situations.add(adopted.done ? 'all adopted' : 'a part adopted')
    return adopted
  }

  #meet(workerId: string, heldId: string, text: string, fate: Fate, adopted: Adopted): void {
    if (fate === 'garbage' || fate === 'over') {
      this.places.set(nameOf(text), 'dropped')
      this.situations.add(fate === 'over' ? 'adopted after its deadline' : 'adopted garbage')
    } else if (fate.list === 'toAnswer') {
      const id = heldId.startsWith('lost:') ? heldId : `lost:${heldId}`
      this.#hold(workerId, id, fate.text)
      adopted.toAnswer.push({ id, text: fate.text })
    } else {
      adopted[fate.list].push({ id: heldId, text: fate.text })
      const list = this.lists[listOf(heldId)]
      if (fate.list === 'dead') this.dead.push(fate.text)
      else list.texts.unshift(fate.text)
      if (fate.list === 'redelivered') list.bell = true
      this.places.set(nameOf(text), fate.list === 'dead' ? 'released' : 'list')
      this.situations.add(fate.list === 'dead' ? 'a dead job' : 'given to another worker')
    }
  }

  /** Calls that were adopted are answered WorkerLost, and released. */
  answer(worker: WorkerModel, requests: Adopted['toAnswer']): void {
    for (const { id, text } of requests) {
      if (worker.knows.has(id)) continue
      const address = addressOf(text, id.slice('lost:'.length))
      if (address?.hubId !== undefined) this.reply(address.hubId, [`${address.id} WorkerLost`])
      this.release(worker.id, [id])
      this.situations.add(lossesOf(text) > 2 ? 'lost with three workers' : 'answered WorkerLost')
    }
  }

  /** True when the request was still in the list; else the word is kept with the time `at`. */
  cancel(id: string, text: string, at: number, memoryMs: number): boolean {
    const { texts } = this.lists.calls
    const index = text === '' ? -1 : texts.indexOf(text)
    if (index >= 0) {
      texts.splice(index, 1)
      this.places.set(nameOf(text), 'cancelled')
      this.situations.add('cancelled in the list')
      return true
    }
    this.cancelled.set(id, at)
    this.cancelledUntilMs = at + memoryMs
    return false
  }

  /** The worker's process hears of a request and starts it, unless it has no such task. */
  start(worker: WorkerModel, heldId: string, text: string): void {
    worker.knows.set(heldId, text)
    // A job runs until it is done, however often its workers die.
    if (taskOf(text) === 'once:1.0' && listOf(heldId) === 'calls')
      this.starts.set(nameOf(text), (this.starts.get(nameOf(text)) ?? 0) + 1)
  }

  #arrive(name: ListName, texts: string[]): void {
    this.lists[name].texts.push(...texts)
    for (const text of texts) this.places.set(nameOf(text), 'list')
  }

  #hold(workerId: string, id: string, text: string): void {
    if (!this.held.has(workerId)) this.held.set(workerId, new Map())
    this.held.get(workerId)!.set(id, text)
    this.places.set(nameOf(text), 'held')
  }

  #letGo(workerId: string, id: string): string | undefined {
    const held = this.heldBy(workerId)
    const text = held.get(id)
    held.delete(id)
    if (held.size === 0) this.held.delete(workerId)
    return text
  }
}
