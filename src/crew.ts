import type { Beat } from './answers.ts'
import { findUnfit, unfitError } from './bootcheck.ts'
import type { WorkerStats } from './cards.ts'
import type { WorkerContext, WorkerParts } from './context.ts'
import { HubError } from './errors.ts'
import { makeKeys } from './keys.ts'
import { explained } from './refusals.ts'
import { Adopt } from './roles/adopt.ts'
import { BeatLoop } from './roles/beat.ts'
import { Farewell } from './roles/farewell.ts'
import { FetchLoop } from './roles/fetch.ts'
import { Inspect } from './roles/inspect.ts'
import { Intake } from './roles/intake.ts'
import { Keepalive } from './roles/keepalive.ts'
import { Reconcile } from './roles/reconcile.ts'
import { Settle } from './roles/settle.ts'

/** The roles of one worker, connected to each other by their context. */
export class Crew {
  readonly intake: Intake
  readonly settle: Settle
  readonly fetch: FetchLoop
  readonly beat: BeatLoop
  readonly keepalive: Keepalive
  readonly adopt: Adopt
  readonly farewell: Farewell
  readonly inspect: Inspect
  readonly #reconcile: Reconcile
  readonly #parts: WorkerParts

  constructor(parts: WorkerParts) {
    this.#parts = parts
    const context = this.#makeContext(parts)
    this.intake = new Intake(context)
    this.settle = new Settle(context)
    this.fetch = new FetchLoop(context)
    this.adopt = new Adopt(context)
    this.beat = new BeatLoop(context, beat => this.#onBeat(beat))
    this.keepalive = new Keepalive(context)
    this.farewell = new Farewell(context)
    this.inspect = this.#makeInspect(parts)
    this.#reconcile = new Reconcile(context)
  }

  #makeContext(parts: WorkerParts): WorkerContext {
    return {
      ...parts,
      problem: where => error => parts.events.emit('problem', { where, reason: explained(error.message) }),
      stats: seenMs => this.#stats(seenMs),
      take: (claimed, workerId, ageMs) => this.intake.take(claimed, workerId, ageMs),
      decode: (text, heldId) => this.intake.decode(text, heldId),
      ignoreClaimsOf: (ids, nowUs) => this.intake.ignoreClaimsOf(ids, nowUs),
      returning: () => this.intake.returning(),
      settle: settlement => this.settle.add(settlement),
      slotsIdle: () => this.fetch.slotsIdle(),
      beatNow: () => this.beat.beatNow(),
      beatAnew: () => this.beat.beatAnew(),
      isLeaseCertain: () => this.beat.isCertain,
      redirect: (requests, workerId, nowUs) => this.adopt.redirect(requests, workerId, nowUs),
    }
  }

  #makeInspect({ settings, commands, queue, events }: WorkerParts): Inspect {
    const purpose = { role: 'worker', keys: makeKeys(settings.namespace), queue: queue.name } as const
    return new Inspect({
      connection: commands,
      findUnfit: client => findUnfit(client, purpose),
      onUnfit: reasons => events.emit('problem', { where: 'redis', reason: unfitError(reasons).message }),
    })
  }

  #stats(seen: number): WorkerStats {
    const { measures, isServing } = this.#parts
    return { seen, draining: !isServing(), ...measures.stats() }
  }

  #onBeat(beat: Beat): void {
    const { executor, measures, isServing, workerId } = this.#parts
    this.keepalive.onBeat()
    this.fetch.onBeat(beat)
    measures.onBeat(beat, workerId())
    for (const id of beat.cancelled) executor.abort(id, new HubError('Aborted', 'The caller gave up waiting.'))
    if (!isServing()) return
    this.#reconcile.look(beat.nowUs).catch(() => undefined)
    this.adopt.onBeat(beat.ended, beat.nowUs)
  }
}
