import assert from 'node:assert/strict'
import type { Adopted, Beat } from '../../src/wire/answers.ts'
import { Holdings, type ListName } from './holdings.ts'
import type { WorkerModel } from './processes.ts'
import { addressOf, type Fate, fateOf, listOf, lossesOf, mayRepeat, nameOf, withMark } from './requests.ts'

/** What leases decide: who holds, who adopts, who leaves, who reports and who pauses. */
export class LeaseModel extends Holdings {
  beat(workerId: string, isNew: boolean, leaseMs: number, memoryMs: number, reportsMs: number): Beat {
    const nowMs = Math.floor(this.nowUs / 1000)
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
      shards: undefined,
    }
    if (!isNew && !lease) return lost
    // One without the lease changes nothing.
    for (const [id, at] of this.cancelled) if (at <= nowMs - memoryMs) this.cancelled.delete(id)
    if (pausedMs !== undefined) this.situations.add(isNew ? 'a lease taken in a pause' : 'a lease renewed in a pause')
    if (!isNew && !this.leaseHolds(workerId)) this.situations.add('a lease renewed after its end')
    // What a longer lease, or a claim, has put off stays so.
    this.leases.set(workerId, Math.max(nowMs + leaseMs, isNew ? 0 : lease!))
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
      shards: undefined,
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
    const keys = { waiting: 0, running: 0, lagMs: 0, longestMs: 0 }
    return { length: texts.length, oldestMs: this.#ageOf(texts), jobs: ofJobs, keys }
  }

  #ageOf([head]: readonly string[]): number | undefined {
    if (head === undefined) return 0
    const at = /^{"at":(\d+),/.exec(head)?.[1]
    return at === undefined ? undefined : Math.max(0, this.nowUs - Number(at)) / 1000
  }

  /** `heads` is what Redis then has at the head of each list: the requests come back in the order of the hash. */
  leave(workerId: string, started: string[], heads: Record<ListName, string[]>): number {
    for (const id of started) {
      const text = id.startsWith('lost:') ? undefined : this.letGo(workerId, id)
      if (text === undefined) continue
      const may = withMark(text, '') !== undefined && mayRepeat(id, text)
      const isMarked = may && listOf(id) === 'calls' && lossesOf(text) === 0
      const marked = isMarked ? withMark(text, '"started":true')! : text
      if (isMarked) this.situations.add('given up and marked')
      this.hold(workerId, may ? id : `lost:${id}`, may ? marked : text)
    }
    const returning = [...this.heldBy(workerId)].filter(([id]) => !id.startsWith('lost:'))
    for (const name of ['calls', 'jobs'] as const) {
      const texts = returning.filter(([id]) => listOf(id) === name).map(([, text]) => text)
      assert.deepEqual(heads[name].toSorted(), texts.toSorted(), `what a leaving worker puts back to the ${name}`)
      this.lists[name].texts.unshift(...heads[name])
      this.lists[name].bell = this.lists[name].texts.length > 0
    }
    for (const [id, text] of returning) {
      this.letGo(workerId, id)
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
      const text = this.letGo(lostId, id)
      assert(text !== undefined, `${id} was not there to be adopted`)
      // What ended in between may have been looked at before.
      this.#meet(workerId, id, text, fateOf(id, text, isTold ? beforeUs : this.nowUs), adopted)
    }
    adopted.done = this.heldBy(lostId).size === 0
    if (adopted.done) {
      this.leases.delete(lostId)
      if (this.reporter?.id === lostId) this.reporter = undefined
    } else if (this.leases.has(lostId)) this.leases.set(lostId, 0)
    if (moved.length > 0) this.situations.add(adopted.done ? 'all adopted' : 'a part adopted')
    return adopted
  }

  #meet(workerId: string, heldId: string, text: string, fate: Fate, adopted: Adopted): void {
    if (fate === 'garbage' || fate === 'over') {
      this.places.set(nameOf(text), 'dropped')
      this.situations.add(fate === 'over' ? 'adopted after its deadline' : 'adopted garbage')
    } else if (fate.list === 'toAnswer') {
      const id = heldId.startsWith('lost:') ? heldId : `lost:${heldId}`
      this.hold(workerId, id, fate.text)
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

  reply(hubId: string, replies: string[]): void {
    this.replies.set(hubId, [...(this.replies.get(hubId) ?? []), ...replies])
  }
}
