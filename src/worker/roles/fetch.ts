import { bellsOf } from '../../queue/bells.ts'
import type { ClaimOptions } from '../../queue/queue.ts'
import type { Connection } from '../../redis/connection.ts'
import type { Beat, Claimed } from '../../wire/answers.ts'
import { backoffMs, monotonicMs, sleep } from '../../wire/clock.ts'
import type { WorkerContext } from '../context.ts'
import { BellWaits, type Heard } from '../queues/bell-waits.ts'
import type { QueueOrder } from '../queues/queue-order.ts'
import { ServedQueue } from '../queues/served-queue.ts'
import type { SlotPool } from '../slot-pool.ts'

export interface FetchParts {
  /** Where claims go while work waits. */
  commands: Connection
  /** Where it waits for the bells. */
  waiting: Connection
  pool: SlotPool
  order: QueueOrder
}

/** While it has work of one queue it looks so often what the bells of the others say. */
const lookMs = 5
/**
 * For so long behind a call jobs are claimed so few at a time: a call that comes waits for all that one claim brought. With blank jobs
 * that halved what they add to the middle of the waits (1.6 times what they are alone instead of 2.8, at one call in flight).
 */
const callsComeMs = 100
const jobsBesideCalls = 2
/** A loop that was behind for longer while a claim was under way may have kept its answer waiting. */
const staleMs = 100

/**
 * Takes work for idle slots and for nothing else: with no slot idle it does not touch Redis.
 *
 * 1. One claim is under way at a time, for one queue, so that several share the slots.
 * 2. While the last claims left work in the lists, the next one is sent at once, on the commands connection: releases are
 *    ahead of it there. Else it waits for the bells on its own connection; those of a single queue take the claim with them.
 * 3. While as many jobs run as may, it does not listen for further ones: their bell would wake it again and again. When
 *    one of them ends, that wait is ended.
 * 4. Calls of all queues go before jobs of any, and while they come jobs are claimed few at a time. While one queue keeps it busy it looks for the tokens of the others' bells.
 * 5. After a claim that brought what only others can run its queue rests, longer each time: that is in the list again. Were these jobs,
 *    only its jobs do, and calls of a worker's own tasks need not wait for jobs of others.
 * 6. While a queue is paused it takes nothing from it. The claim behind a wait that is ended then still runs: it is in Redis.
 */
export class FetchLoop {
  readonly #parts: FetchParts
  readonly #stopping = new AbortController()
  readonly #queues = new Map<WorkerContext, ServedQueue>()
  #underWay: Promise<void> | undefined
  #scheduled = false
  #isStarted = false
  #lookedAt = Number.NEGATIVE_INFINITY
  /** When a claim last brought calls. */
  #calledAt = Number.NEGATIVE_INFINITY
  readonly #waits: BellWaits
  #claiming: { queue: ServedQueue; sentAt: number; isHere: boolean } | undefined

  constructor(parts: FetchParts) {
    this.#parts = parts
    this.#waits = new BellWaits(parts.commands, parts.waiting)
  }

  /** From now on this queue is served, too. */
  add(context: WorkerContext): void {
    this.#queues.set(context, new ServedQueue(context, () => this.#onAwake()))
    if (this.#isStarted) this.#onAwake()
  }

  /** Takes nothing from that queue any more, while others are still served. Resolves when no claim of it is under way. */
  async remove(context: WorkerContext): Promise<void> {
    this.#queues.get(context)?.stop()
    this.#queues.delete(context)
    this.#waits.end()
    await this.#underWay
  }

  start(): void {
    this.#isStarted = true
    this.#next()
  }

  /** Slots became idle; called in the tick in which the replies of what they ran were sent, or their releases confirmed. */
  slotsIdle(): void {
    // After a claim the next one is scheduled anyway; only while work waits it pays to send it in one write with these.
    if (!this.#scheduled || this.#choose()) this.#next()
    if (this.#waits.isDeaf && this.#parts.pool.jobRoom > 0) this.#waits.end()
  }

  /**
   * Learns from each beat whether the queue is paused: asking with each claim would cost every call a command.
   *
   * @param hasWork something waits there. A bell's token may be lost with the worker that took it, and while one queue is busy no wait
   *   for the bells of the others ends.
   */
  onBeat(context: WorkerContext, beat: Beat, hasWork: boolean): void {
    const queue = this.#queues.get(context)
    if (!queue) return
    const isPaused = queue.onBeat(beat)
    // With each beat of the pause: what ends a wait may overtake that wait, which is sent on another connection.
    if (isPaused) this.#waits.end()
    // A claim that was sent since knows better.
    if (!hasWork || this.#queues.size < 2 || !queue.isAwake || queue.claimedAt > context.beat.sentAt) return
    queue.hear(true, true)
    this.#onAwake()
  }

  /** When a claim was sent whose answer is coming in, which takes seconds on a slow link, or is here and not taken yet. */
  arrivingSince(context: WorkerContext): number | undefined {
    const claim = this.#claiming
    if (claim?.queue.context !== context) return undefined
    return claim.isHere || this.#parts.waiting.isReceiving(context.queue.keys.calls) ? claim.sentAt : undefined
  }

  /** No claim is started any more. One that waits for the bell is left to whoever closes its connection. */
  stop(): void {
    this.#stopping.abort()
    for (const queue of this.#queues.values()) queue.stop()
  }

  /** Resolves when no claim is under way. */
  async settled(): Promise<void> {
    await this.#underWay
  }

  /** A queue may be claimed from that could not be before: a wait that is under way does not listen for it. */
  #onAwake(): void {
    this.#waits.end()
    this.#next()
  }

  /** Those that may be claimed from now. */
  get #awake(): ServedQueue[] {
    return [...this.#queues.values()].filter(({ isAwake }) => isAwake)
  }

  /** The one to claim from without waiting for a bell. Asked when that is sent: while jobs run there may be no room for those that wait. */
  #choose(awake = this.#awake): ServedQueue | undefined {
    const { order, pool } = this.#parts
    const queue = order.choose(awake.filter(({ callsWait }) => callsWait))
    if (queue || pool.jobRoom <= 0) return queue
    return order.choose(awake.filter(({ jobsWait, takesJobs }) => jobsWait && takesJobs))
  }

  #next(): void {
    const { signal } = this.#stopping
    if (this.#underWay || signal.aborted || this.#parts.pool.idle <= 0 || this.#awake.length === 0) return
    this.#underWay = this.#fetch().then(() => {
      this.#underWay = undefined
      this.#scheduled = true
      // Behind the replies of what finishes at once: writing the next wait first would hold them up.
      setImmediate(() => {
        this.#scheduled = false
        this.#next()
      })
    })
  }

  async #fetch(): Promise<void> {
    const { commands, waiting } = this.#parts
    const connection = this.#choose() ? commands : waiting
    if (!connection.isReady) await connection.whenReady(this.#stopping.signal)
    // Of several queues one whose node is away must not keep the others back: it rests.
    const [only, ...others] = connection.isCluster ? this.#queues.keys() : []
    if (only && others.length === 0) await connection.at(only.queue.keys.calls).whenReady(this.#stopping.signal)
    if (this.#stopping.signal.aborted) return
    const awake = this.#awake
    const sure = this.#choose(awake)
    if (sure) await this.#claim(sure, awake, true)
    else if (awake.length === 1) await this.#claim(awake[0]!, awake, false)
    else if (awake.length > 1) await this.#listen(awake)
  }

  async #claim(queue: ServedQueue, awake: ServedQueue[], isSure: boolean): Promise<void> {
    const { workerId, measures, intake, problem, sharding } = queue.context
    const { pool } = this.#parts
    const othersHaveCalls = awake.some(each => each !== queue && each.callsWait)
    const jobs = othersHaveCalls || !queue.takesJobs ? 0 : this.#mostJobs()
    const wanted = { slots: pool.idle, jobs, merging: queue.merging, epoch: sharding.epochOf(queue.context.queue.name) }
    const id = workerId()
    const stalledBefore = measures.loop.stalledMs()
    const claiming = { queue, sentAt: monotonicMs(), isHere: false }
    queue.claimedAt = claiming.sentAt
    this.#claiming = claiming
    try {
      const claimed = await this.#send(queue, id, wanted, isSure)
      claiming.isHere = true
      if (!claimed) return await this.#renewLease(queue)
      // Deadlines went on meanwhile, and so did the lease: what this brought may be somebody else's by now.
      const isStale = claimed.requests.length > 0 && measures.loop.stalledMs() - stalledBefore > staleMs
      const ageMs = isStale ? await ageOf(claimed, queue.context, this.#stopping.signal) : 0
      // Under an identity that was lost: others have adopted it.
      const rest = id === workerId() ? intake.take(claimed, id, ageMs) : undefined
      queue.learn(claimed, wanted.jobs > 0)
      // Calls come first in it.
      if (claimed.requests[0]?.isJob === false) this.#calledAt = monotonicMs()
      if (rest?.ofJobs) queue.restJobs(rest.ms)
      else if (rest) queue.rest(rest.ms)
    } catch (error) {
      // The answer may be lost with the claim made: what it took is found by reconcile. A wait that broke may have taken the
      // token with it, and what that announced still waits.
      if ((error as Error).name !== 'ReplyError') queue.hear(true, true)
      else if (!this.#stopping.signal.aborted) problem('fetch')(error as Error)
      this.#restAfterFailure(queue, 20)
    } finally {
      this.#claiming = undefined
    }
  }

  #mostJobs(): number {
    const { jobRoom } = this.#parts.pool
    return monotonicMs() < this.#calledAt + callsComeMs ? Math.min(jobsBesideCalls, jobRoom) : jobRoom
  }

  #restAfterFailure(queue: ServedQueue, firstMs: number): void {
    queue.rest(backoffMs(queue.failures++, firstMs, 1000))
  }

  #send(queue: ServedQueue, id: string, wanted: ClaimOptions, isSure: boolean): Promise<Claimed | undefined> {
    const { context } = queue
    if (isSure) {
      this.#look(queue)
      return queue.place.send(client => context.queue.claim(client, id, wanted))
    }
    this.#goesDeaf()
    return this.#waits.wait(context.queue.keys, wanted.jobs <= 0 || this.#queues.size > 1, client =>
      context.queue.waitAndClaim(client, id, wanted, () => queue.onDueBell()),
    )
  }

  /** The wait that begins now listens for calls alone where there is no room for jobs, though they are taken here. */
  #goesDeaf(): void {
    const { pool } = this.#parts
    this.#waits.isDeaf = pool.takesJobs && pool.jobRoom <= 0
  }

  /** In one write with the claim, so the next one knows. */
  #look(claimed: ServedQueue): void {
    const others = this.#awake.filter(each => each !== claimed)
    const now = monotonicMs()
    if (others.length === 0 || now < this.#lookedAt + lookMs) return
    this.#lookedAt = now
    for (const other of others) {
      other.place
        .send(client => bellsOf(client, other.context.queue.keys))
        // A claim that was sent since knows better what is left there.
        .then(({ bell, jobBell }) => other.claimedAt < now && other.hear(bell, jobBell))
        // The next look, or the next wait, tells.
        .catch(() => undefined)
    }
  }

  /** Waits until a bell of several queues rings. Claims follow then, one by one: together they would bring more than there is room for. */
  async #listen(awake: ServedQueue[]): Promise<void> {
    const { order, pool } = this.#parts
    const hasRoom = pool.jobRoom > 0
    this.#goesDeaf()
    const queues = order.sort(awake)
    const bells = queues.map(({ context, takesJobs }) => ({
      keys: context.queue.keys,
      wantsJobs: hasRoom && takesJobs,
    }))
    const failed = (error: Error) => queues.map((_, queue) => ({ queue, error }))
    const heard: Heard[] = await this.#waits.listen(bells).catch(failed)
    let told: Error | undefined
    for (const { queue: at, bell, error } of heard) {
      const queue = queues[at]!
      if (bell) queue.hear(bell === 'bell', bell === 'jobBell')
      if (bell === 'dueBell') queue.onDueBell()
      if (!error) continue
      queue.hear(true, true)
      this.#restAfterFailure(queue, 20)
      if (error.name === 'ReplyError' && error !== told && !this.#stopping.signal.aborted)
        queue.context.problem('fetch')(error)
      told = error
    }
  }

  async #renewLease(queue: ServedQueue): Promise<void> {
    await queue.context.beat.beatNow()
    // The bell's token is taken, and what it announced still waits.
    queue.hear(true, true)
    // A beat that failed, on a full disk for one, must not make this a busy loop.
    if (queue.failures++ > 0) this.#restAfterFailure(queue, 50)
  }
}

/**
 * How long ago, on Redis' clock, this claim was made; also finds out whether the lease is still held. Asked until there is an answer: on a slow
 * link the other connection may be made anew just then, and what was claimed would have to come once more, again and again.
 */
const ageOf = async ({ nowUs }: Claimed, context: WorkerContext, signal: AbortSignal): Promise<number> => {
  const { beat, clock, commands, workerId } = context
  const id = workerId()
  for (let attempt = 0; !(await beat.beatAnew()) && id === workerId(); attempt++) {
    if (signal.aborted) throw new Error('the lease could not be renewed')
    await sleep(backoffMs(attempt, 20, 1000), signal)
    await commands.whenReady(signal)
  }
  return (clock.atUs(monotonicMs()) - nowUs) / 1000
}
