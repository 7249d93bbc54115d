import type { ClaimOptions } from '../../src/queue/queue.ts'
import type { Claimed, Pushed } from '../../src/wire/answers.ts'
import type { ListName } from './holdings.ts'
import { LeaseModel } from './lease-model.ts'
import { heldIdOf, leadingIdOf, nameOf, spareUsOf, withTtlLess } from './requests.ts'

/**
 * What a queue's keys in Redis should hold, and what each function should do to them and answer: the contract of
 * PROTOCOL.md in plain data. Nothing here knows Redis. What only Redis can know (its time, a name it makes up, the order
 * of a hash) is handed in from its answers.
 *
 * `push` and `claim` are the two rules about what is let in and what is let out; nothing else repeats them.
 */
export class Model extends LeaseModel {
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
    this.arrive('calls', texts)
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
      this.hold(workerId, heldIdOf(id ?? madeUpId!, isJob), text)
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
    this.lists.calls.bell = left > 0
    if (jobs > 0) this.lists.jobs.bell = jobsLeft > 0
    if (bytesLeft <= 0 && left + jobsLeft > 0) this.situations.add('a claim bounded by bytes')
    if (this.isFull && requests.length > 0) this.situations.add('a claim from a full Redis')
    return { nowUs: this.nowUs, left, jobsLeft, expired, requests }
  }

  /** True when the request was still in the list; else the word is kept with the time `at`. */
  cancel(id: string, text: string, at: number, memoryMs: number): boolean {
    const { texts } = this.lists.calls
    const index = text === '' ? -1 : texts.indexOf(text)
    if (index >= 0) {
      texts.splice(index, 1)
      if (texts.length === 0) this.lists.calls.bell = false
      this.places.set(nameOf(text), 'cancelled')
      this.situations.add('cancelled in the list')
      return true
    }
    this.cancelled.set(id, at)
    this.cancelledUntilMs = at + memoryMs
    return false
  }
}
