import type { Beat } from './answers.ts'
import { findUnfit, unfitError } from './bootcheck.ts'
import type { WorkerCounters, WorkerStats } from './cards.ts'
import { sleep } from './clock.ts'
import type { Settings } from './config.ts'
import { HubError } from './errors.ts'
import type { Executor } from './executor.ts'
import { makeKeys } from './keys.ts'
import type { Measures } from './measures.ts'
import type { Pulse } from './pulse.ts'
import type { Queue } from './queue.ts'
import type { Connection, Redis } from './redis.ts'
import { explained } from './refusals.ts'
import type { Registrar } from './registrar.ts'
import { Adopt } from './roles/adopt.ts'
import { BeatLoop } from './roles/beat.ts'
import { Farewell } from './roles/farewell.ts'
import { FetchLoop } from './roles/fetch.ts'
import { Inspect } from './roles/inspect.ts'
import { Intake } from './roles/intake.ts'
import { Keepalive, type KeepaliveOptions } from './roles/keepalive.ts'
import { Pause } from './roles/pause.ts'
import { Reconcile } from './roles/reconcile.ts'
import { Report } from './roles/report.ts'
import { Settle } from './roles/settle.ts'
import { Unserved } from './roles/unserved.ts'
import { RunTimes } from './runtimes.ts'
import type { Held } from './settlement.ts'
import type { Slots } from './slots.ts'
import { defaultTimeoutMs, type Task } from './task.ts'
import type { Events } from './telemetry.ts'

/** What the roles of one worker share. */
export interface CrewContext {
  readonly settings: Readonly<Settings>
  readonly tasks: ReadonlyMap<string, Task>
  readonly queue: Queue
  readonly commands: Connection
  readonly waiting: Connection
  readonly slots: Slots
  readonly executor: Executor
  readonly pulse: Pulse
  /** Log lines for when this thread cannot write any. */
  readonly blockedLines: KeepaliveOptions['lines']
  readonly registrar: Registrar
  readonly counters: WorkerCounters
  readonly measures: Measures
  readonly events: Events
  /** The present identity. */
  workerId(): string
  /** The lease was lost: from now on workerId() is another. */
  becomeNew(): void
  isServing(): boolean
}

/** After handing a request back to others a worker pauses, so as not to take it again at once. */
const handbackPauseMs = 50

/** Tasks that run shorter than this are not worth telling the claim script about, nor are more than so many. */
const leastRunMs = 5
const maxLongRuns = 20

/** The roles of one worker, connected to each other; none of them knows another. */
export class Crew {
  readonly intake: Intake
  readonly settle: Settle
  readonly fetch: FetchLoop
  readonly beat: BeatLoop
  readonly keepalive: Keepalive
  readonly adopt: Adopt
  readonly farewell: Farewell
  readonly inspect: Inspect
  readonly report: Report
  readonly #pause: Pause
  readonly #reconcile: Reconcile
  readonly #context: CrewContext
  readonly #runTimes = new RunTimes()

  constructor(context: CrewContext) {
    this.#context = context
    this.intake = this.#makeIntake(context)
    this.settle = this.#makeSettle(context)
    this.fetch = this.#makeFetch(context)
    this.#reconcile = this.#makeReconcile(context)
    this.adopt = this.#makeAdopt(context)
    this.report = new Report({ ...context, queueName: context.queue.name })
    const halting = { hold: () => this.fetch.pause(), goOn: () => this.fetch.resume() }
    this.#pause = new Pause({ ...context, queueName: context.queue.name, ...halting })
    this.beat = this.#makeBeat(context)
    this.keepalive = this.#makeKeepalive(context)
    this.farewell = this.#makeFarewell(context)
    this.inspect = this.#makeInspect(context)
  }

  #makeIntake(context: CrewContext): Intake {
    const { settings, queue, executor, slots, counters, events, workerId, tasks, registrar, commands, measures } =
      context
    const unserved = new Unserved({
      queueName: queue.name,
      whereabouts: task => commands.send(client => registrar.whereabouts(client, task)),
    })
    return new Intake({
      namespace: settings.namespace,
      queueName: queue.name,
      executor,
      slots,
      counters,
      measures,
      runTimes: this.#runTimes,
      events,
      workerId,
      settle: settlement => this.settle.add(settlement),
      unserved: task => unserved.verdict(task),
      handBack: requests => this.#handBackToOthers(requests),
      onSlotsIdle: () => this.fetch.slotsIdle(),
      timeoutMsOf: task => tasks.get(task)?.timeoutMs ?? defaultTimeoutMs,
      isIdempotent: task => tasks.get(task)?.idempotent ?? false,
      runsAtLeastMs: task => this.#runTimes.toldMs(task),
    })
  }

  #makeSettle({ queue, commands, slots, workerId }: CrewContext): Settle {
    return new Settle({
      queue,
      connection: commands,
      workerId,
      redisNowMs: () => this.beat.redisNowUs / 1000,
      isLeaseCertain: () => this.beat.isCertain,
      renewLease: () => this.beat.beatAnew(),
      onSlotsIdle: ids => {
        slots.free(ids)
        this.fetch.slotsIdle()
      },
      onReleased: ids => slots.forget(ids),
      onProblem: this.#problem('settle'),
    })
  }

  #makeFetch({ queue, waiting, commands, slots, pulse, workerId }: CrewContext): FetchLoop {
    return new FetchLoop({
      queue,
      waiting,
      commands,
      workerId,
      idleSlots: () => slots.idle,
      runTimes: () => this.#runTimes.told,
      jobRoom: () => slots.jobRoom,
      takesJobs: slots.takesJobs,
      releasedSlots: () => slots.released,
      lateMs: () => pulse.lateMs(),
      ageMs: async claimed => {
        if (!(await this.beat.beatAnew())) throw new Error('the lease could not be renewed')
        return (this.beat.redisNowUs - claimed.nowUs) / 1000
      },
      onClaimed: (claimed, claimedBy, ageMs) => {
        // Under an identity that was lost: others have adopted it.
        if (claimedBy === workerId()) this.intake.take(claimed, claimedBy, ageMs)
      },
      onNoLease: () => this.beat.beatNow().then(() => undefined),
      onProblem: this.#problem('fetch'),
    })
  }

  #makeReconcile({ queue, commands, slots, workerId }: CrewContext): Reconcile {
    return new Reconcile({
      queue,
      connection: commands,
      workerId,
      knows: id => slots.knows(id),
      onFound: (found, heldBy, nowUs) => {
        const isAdopted = ({ id }: { id: string }) => id.startsWith('lost:')
        this.#putBackFound(
          found.filter(entry => !isAdopted(entry)),
          heldBy,
          nowUs,
        ).catch(this.#problem('reconcile'))
        this.adopt.redirect(found.filter(isAdopted), heldBy, nowUs).catch(this.#problem('adopt'))
      },
    })
  }

  #makeAdopt({ queue, commands, events, slots, registrar, workerId }: CrewContext): Adopt {
    return new Adopt({
      queue,
      connection: commands,
      events,
      workerId,
      take: id => slots.know(id),
      forget: ids => slots.forget(ids),
      decode: (text, id) => this.intake.decodeAdopted(text, id),
      isIdempotent: task => registrar.isIdempotent(task, commands),
      settle: settlement => this.settle.add(settlement),
    })
  }

  #makeBeat({ queue, commands, settings, workerId, becomeNew }: CrewContext): BeatLoop {
    return new BeatLoop({
      queue,
      connection: commands,
      leaseMs: settings.leaseMs,
      workerId,
      onLost: becomeNew,
      publish: (client, nowMs) => this.#publish(client, nowMs),
      reports: () => this.report.isWanted,
      onBeat: beat => this.#onBeat(beat),
      onProblem: this.#problem('beat'),
    })
  }

  #makeKeepalive({ queue, settings, pulse, blockedLines, workerId }: CrewContext): Keepalive {
    return new Keepalive({
      queue,
      target: settings.redis,
      pulse,
      leaseMs: settings.leaseMs,
      maxBlockedMs: settings.maxBlockedMs,
      lines: blockedLines,
      workerId,
      onProblem: this.#problem('keepalive'),
    })
  }

  #makeFarewell({ queue, commands, registrar, slots, workerId }: CrewContext): Farewell {
    return new Farewell({
      queue,
      connection: commands,
      registrar,
      workerId,
      stats: () => this.#stats(Math.floor(this.beat.redisNowUs / 1000)),
      knows: id => slots.knows(id),
      unfinished: () => this.intake.unfinished(),
      onProblem: this.#problem('stop'),
    })
  }

  #makeInspect({ settings, commands, queue, events }: CrewContext): Inspect {
    const purpose = { role: 'worker', keys: makeKeys(settings.namespace), queue: queue.name } as const
    return new Inspect({
      connection: commands,
      findUnfit: client => findUnfit(client, purpose),
      onUnfit: reasons => events.emit('problem', { where: 'redis', reason: unfitError(reasons).message }),
    })
  }

  async #publish(client: Redis, nowMs: number): Promise<void> {
    const { registrar, measures, workerId } = this.#context
    const said = { stats: this.#stats(nowMs), measured: (isAll: boolean) => measures.texts(isAll) }
    try {
      await registrar.publish(client, workerId(), nowMs, said)
    } catch (error) {
      measures.repeat()
      throw error
    }
  }

  #stats(seen: number): WorkerStats {
    const { slots, counters, measures, isServing } = this.#context
    return { seen, busy: slots.busy, draining: !isServing(), counters, ...measures.stats() }
  }

  #onBeat(beat: Beat): void {
    const { executor, isServing } = this.#context
    this.keepalive.onBeat()
    this.#pause.onBeat(beat)
    this.report.onBeat(beat)
    this.intake.learnTime(beat.nowUs)
    this.#runTimes.tell(leastRunMs, maxLongRuns)
    for (const id of beat.cancelled) executor.abort(id, new HubError('Aborted', 'The caller gave up waiting.'))
    if (!isServing()) return
    this.#reconcile.look(beat.nowUs).catch(() => undefined)
    this.adopt.onBeat(beat.ended, beat.nowUs)
  }

  /**
   * Not run here: a claim for all idle slots is under way already, and would bring more than there is room for. The mark
   * is the beat's own time, which is later than the claim that was lost and earlier than any that follows: an estimate of
   * now is ahead of Redis by the beat's way, and voided the next claim too, again and again.
   */
  async #putBackFound(found: { id: string; text: string }[], heldBy: string, nowUs: number): Promise<void> {
    if (found.length === 0) return
    const { commands, queue } = this.#context
    const ids = found.map(({ id }) => ({ id }))
    this.intake.ignoreClaimsOf(found, nowUs)
    await commands.send(client => queue.handback(client, heldBy, 'head', ids))
  }

  async #handBackToOthers(requests: Held[]): Promise<void> {
    const { commands, queue, workerId } = this.#context
    await commands.send(client => queue.handback(client, workerId(), 'tail', requests)).catch(this.#problem('handback'))
    await sleep(handbackPauseMs)
  }

  #problem(where: string): (error: Error) => void {
    return error => this.#context.events.emit('problem', { where, reason: explained(error.message) })
  }
}
