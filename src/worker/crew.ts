import { findUnfit, unfitError } from '../redis/boot-check.ts'
import { explained } from '../redis/refusals.ts'
import type { Beat } from '../wire/answers.ts'
import { HubError } from '../wire/errors.ts'
import { makeKeys } from '../wire/keys.ts'
import type { WorkerContext, WorkerParts } from './context.ts'
import { Adopt } from './roles/adopt.ts'
import { BeatLoop } from './roles/beat.ts'
import { Due } from './roles/due.ts'
import { Farewell } from './roles/farewell.ts'
import { FetchLoop } from './roles/fetch.ts'
import { Forward } from './roles/forward.ts'
import { Inspect } from './roles/inspect.ts'
import { Intake } from './roles/intake.ts'
import { Keepalive } from './roles/keepalive.ts'
import { Reconcile } from './roles/reconcile.ts'
import { Settle } from './roles/settle.ts'
import { Show } from './roles/show.ts'
import { Tick } from './roles/tick.ts'

/** The parts and the roles of one worker. */
export interface Crew extends WorkerContext {
  intake: Intake
  settle: Settle
  fetch: FetchLoop
  adopt: Adopt
  due: Due
  tick: Tick
  forward: Forward
  beat: BeatLoop
  keepalive: Keepalive
  farewell: Farewell
  inspect: Inspect
  show: Show
}

/** The crew is the context of its own roles: they find each other there. */
export const makeCrew = (parts: WorkerParts): Crew => {
  const { executor, measures, events, isServing, workerId } = parts
  const crew = {
    ...parts,
    problem: where => error => events.emit('problem', { where, reason: explained(error.message) }),
    stats: seen => ({ seen, draining: !isServing(), ...measures.stats() }),
  } as Crew
  const reconcile = new Reconcile(crew)
  const onBeat = (beat: Beat) => {
    crew.keepalive.onBeat()
    crew.fetch.onBeat(beat)
    measures.onBeat(beat, workerId())
    crew.show.onBeat(beat)
    for (const id of beat.cancelled) executor.abort(id, new HubError('Aborted', 'The caller gave up waiting.'))
    if (!isServing()) return
    reconcile.look(beat.nowUs).catch(() => undefined)
    crew.adopt.onBeat(beat.ended)
    crew.due.onBeat(beat)
    crew.tick.onBeat(beat)
  }
  crew.intake = new Intake(crew)
  crew.settle = new Settle(crew)
  crew.fetch = new FetchLoop(crew)
  crew.adopt = new Adopt(crew)
  crew.due = new Due(crew)
  crew.tick = new Tick(crew)
  crew.forward = new Forward(crew)
  crew.beat = new BeatLoop(crew, onBeat)
  crew.keepalive = new Keepalive(crew)
  crew.farewell = new Farewell(crew)
  crew.inspect = makeInspect(parts)
  crew.show = new Show(crew)
  return crew
}

const makeInspect = ({ settings, commands, queue, events }: WorkerParts): Inspect => {
  const purpose = { role: 'worker', keys: makeKeys(settings.namespace), queue: queue.name } as const
  return new Inspect({
    connection: commands,
    findUnfit: client => findUnfit(client, purpose),
    onUnfit: reasons => events.emit('problem', { where: 'redis', reason: unfitError(reasons).message }),
  })
}
