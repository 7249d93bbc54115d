import { answerOf, comesBack, unrun } from '../../jobs/verdict.ts'
import { isBatchFull } from '../../queue/batches.ts'
import type { HeldEnd, JobEnd } from '../../queue/job-queue.ts'
import { command, longWriteChars } from '../../redis/client.ts'
import { NotConnected } from '../../redis/failures.ts'
import { clearTimeout, setTimeout } from '../../wire/timers.ts'
import { mayPass, untilDone } from '../answers/until-done.ts'
import type { WorkerContext } from '../context.ts'
import { plainId, type Settlement } from '../held.ts'
import type { Slot } from '../slots.ts'

/** What ended under one identity of this worker and is replied to in one write, then released in one. */
interface Batch {
  readonly workerId: string
  /** Whose replies alone are in it, on a Cluster: where one node is away, replies to hubs of the others must not wait for it. */
  readonly only: string | undefined
  readonly ids: string[]
  /** By hub. */
  readonly replies: Map<string, string[]>
  /** What became of jobs, but for those that need only be released. */
  readonly jobs: HeldEnd[]
  readonly slots: Slot[]
  /** Of all that ended. */
  count: number
  chars: number
}

/** For so long a release waits for further replies to go with. */
const releaseMs = 5
/** A reply to another node of a Cluster that takes longer is not waited for: its request takes no room here any more. */
const stuckMs = 100

/**
 * Replies, then releases. What ended in one tick goes in one write: one push per hub. What is held is removed once these were
 * answered, together with the next replies if there are any: whatever happens in between repeats a reply, which the hub
 * recognises, instead of losing one.
 */
export class Settle {
  readonly #context: WorkerContext
  readonly #stopping = new AbortController()
  readonly #underWay = new Set<Promise<void>>()
  #ended: Batch[] = []
  /** Their replies are in Redis: to be released with the next flush. */
  #answered: Batch[] = []
  #later: NodeJS.Timeout | undefined

  constructor(context: WorkerContext) {
    this.#context = context
  }

  add({ id, workerId, hubId, reply, job, slot }: Settlement): void {
    const size = job ? job.text.length : reply.length
    const batch = this.#batchFor(workerId, size, this.#context.commands.isCluster ? hubId : undefined)
    // Redis takes as long for each key of a run as for a job.
    batch.count += job?.keys ?? 1
    batch.chars += size
    if (slot) batch.slots.push(slot)
    if (job) batch.jobs.push({ ...job, at: this.#context.slots.atOf(id) })
    else batch.ids.push(id)
    if (hubId === undefined) return
    const replies = batch.replies.get(hubId)
    if (replies) replies.push(reply)
    else batch.replies.set(hubId, [reply])
    // They fill a write, and their callers go on while the rest is encoded: with 16 calls of 10 kB in flight 12 % more calls a second.
    if (batch.chars > longWriteChars) this.#flush()
  }

  #batchFor(workerId: string, chars: number, only: string | undefined): Batch {
    const last = this.#ended.findLast(batch => batch.only === only)
    if (last?.workerId === workerId && !isBatchFull(last.count, last.chars, chars)) return last
    const batch = { workerId, only, ids: [], replies: new Map(), jobs: [], slots: [], count: 0, chars: 0 }
    if (this.#ended.push(batch) > 1) return batch
    // A lone reply leaves at the end of this tick; under load those of a whole turn of the loop go together.
    if (this.#underWay.size === 0) process.nextTick(() => this.#flush())
    else setImmediate(() => this.#flush())
    return batch
  }

  /** Resolves when everything added so far is confirmed, refused for good, or left to stop(). */
  async drained(): Promise<void> {
    for (this.#flush(); this.#underWay.size > 0; this.#flush()) await Promise.all(this.#underWay)
  }

  /** Ends the retries of what could not be sent. */
  stop(): void {
    this.#stopping.abort()
  }

  #flush(): void {
    const { slots, fetch, workerId } = this.#context
    const current = workerId()
    const ended = this.#ended
    this.#ended = []
    // Jobs that need only be released have no answers to wait for: in one write with the next claim, and ahead of it.
    for (const batch of ended) if (batch.replies.size === 0 && batch.jobs.length === 0) this.#answered.push(batch)
    this.#releaseAnswered(current)
    if (ended.length === 0) return
    for (const batch of ended) {
      const isReleased = batch.replies.size === 0 && batch.jobs.length === 0
      // What was claimed under an identity that was lost somebody else answers for by now.
      if (batch.workerId === current && !isReleased) this.#track(this.#deliver(batch))
      slots.free(batch.slots)
    }
    fetch.slotsIdle()
  }

  #track(work: Promise<void>): void {
    const tracked = work.finally(() => this.#underWay.delete(tracked))
    this.#underWay.add(tracked)
  }

  async #deliver(batch: Batch): Promise<void> {
    const { workerId, jobs, only, ids } = batch
    const { slots, fetch } = this.#context
    const stick = () => {
      for (const id of ids) if (slots.knows(id)) slots.sendOut(id)
      fetch.slotsIdle()
    }
    const timer = only === undefined ? undefined : setTimeout(stick, stuckMs)
    await this.#untilDone(() => this.#reply(batch), workerId, mayPass)
    clearTimeout(timer)
    // Whatever refuses it: a job is done, or waits, or is dead, or held.
    if (jobs.length > 0) await this.#untilDone(() => this.#settleJobs(jobs, workerId), workerId)
    if (this.#stopping.signal.aborted || batch.ids.length === 0) return
    this.#answered.push(batch)
    // With the next replies, in one write: a write of their own would cost more than the releases do.
    if (this.#context.slots.idle <= 0) setImmediate(() => this.#flush())
    else this.#later ??= setTimeout(() => this.#flush(), releaseMs)
  }

  async #untilDone(
    act: () => Promise<unknown>,
    workerId: string,
    isWorthIt?: (error: Error) => boolean,
  ): Promise<void> {
    await untilDone(this.#context, 'settle', this.#stopping.signal, act, workerId, isWorthIt)
  }

  async #reply({ workerId, replies }: Batch): Promise<void> {
    const { queue, commands, beat, problem } = this.#context
    if (!beat.isCertain && !(await beat.beatAnew())) throw new NotConnected('the lease could not be renewed')
    if (workerId !== this.#context.workerId()) return
    const replied = [...replies].map(([hubId, texts]) =>
      commands
        .send(client => queue.reply(client, hubId, texts))
        .catch(error => {
          // One hub's spoilt reply list must not keep the others' replies back.
          if (mayPass(error)) throw error
          problem('settle')(error)
        }),
    )
    await Promise.all(replied)
  }

  /** In one step with their release. Who waits for them is told behind it, and looks again where that fails. */
  async #settleJobs(jobs: HeldEnd[], workerId: string): Promise<void> {
    const { queue, jobQueue, commands, slots, fetch, forward, problem } = this.#context
    const { dropped, told, outs } = await commands.send(client => jobQueue.settle(client, workerId, jobs))
    // Not remembered as released: should Redis forget this, in a failover, they are run again, so that what was to follow comes.
    slots.settled(jobs)
    forward.send(outs, workerId)
    fetch.slotsIdle()
    if (dropped > 0)
      problem('dead')(new Error(`${dropped} of the oldest dead jobs were dropped to keep the latest ones`))
    for (const { id, ticket, hubId } of told) {
      const tell = async () => {
        const answer = answerOf(await this.#asEnded(jobs.find(job => job.id === id)!), ticket, workerId)
        await commands.send(client => queue.reply(client, hubId, [answer]))
      }
      // On a Cluster the hub's node may be away while its queue's is not: then nothing has the hub look again.
      if (commands.isCluster) this.#track(this.#untilDone(tell, workerId, mayPass))
      else tell().catch(() => undefined)
    }
  }

  /** One that was to come back ended all the same: it was cancelled meanwhile, or its time would be over. */
  async #asEnded(end: JobEnd): Promise<JobEnd> {
    if (!comesBack(end)) return end
    const { jobQueue, commands } = this.#context
    const key = jobQueue.keys.job(plainId(end.id))
    const state = await commands.send(client => command(client, 'hget', key, 'state'))
    return unrun(end.id, state === 'cancelled' ? 'cancelled' : 'expired')
  }

  #releaseAnswered(workerId: string): void {
    const answered = this.#answered
    if (answered.length === 0) return
    this.#answered = []
    clearTimeout(this.#later)
    this.#later = undefined
    const ids: string[] = []
    for (const batch of answered) if (batch.workerId === workerId) ids.push(...batch.ids)
    if (ids.length > 0) this.#track(this.#release(ids, workerId))
  }

  async #release(ids: string[], workerId: string): Promise<void> {
    const { queue, commands, slots, fetch } = this.#context
    const release = async () => {
      await commands.send(client => queue.release(client, workerId, ids))
      slots.released(ids)
    }
    // Whatever refuses it, a right that was taken away for one: what is held would block its slots for ever.
    await this.#untilDone(release, workerId)
    fetch.slotsIdle()
  }
}
