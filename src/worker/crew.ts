import { type FieldWrites, Registrar } from '../catalogue/registrar.ts'
import type { LoopDelay } from '../figures/loop-delay.ts'
import type { Pulse } from '../figures/pulse.ts'
import { JobQueue } from '../queue/job-queue.ts'
import { Queue } from '../queue/queue.ts'
import { explained } from '../redis/refusals.ts'
import type { Task } from '../task/task.ts'
import { HubError } from '../wire/errors.ts'
import { newId } from '../wire/ids.ts'
import { makeKeys } from '../wire/keys.ts'
import { RedisClock } from '../wire/redis-clock.ts'
import type { WorkerContext, WorkerParts } from './context.ts'
import { Executor, type ExecutorOptions } from './executor.ts'
import { Measures } from './measures.ts'
import type { Sharding } from './queues/sharding.ts'
import { Adopt } from './roles/adopt.ts'
import { BeatLoop, type OnBeat } from './roles/beat.ts'
import { Due } from './roles/due.ts'
import { Farewell } from './roles/farewell.ts'
import type { FetchLoop } from './roles/fetch.ts'
import { Forward } from './roles/forward.ts'
import { Intake } from './roles/intake.ts'
import type { Keepalive } from './roles/keepalive.ts'
import { ProgressNotes } from './roles/progress.ts'
import { Reconcile } from './roles/reconcile.ts'
import { Retreat } from './roles/retreat.ts'
import { Settle } from './roles/settle.ts'
import { Show } from './roles/show.ts'
import { Streams } from './roles/streams.ts'
import { Tick } from './roles/tick.ts'
import type { SlotPool } from './slot-pool.ts'
import { Slots } from './slots.ts'

/** What the crews of one worker share. */
export interface CommonParts
  extends Pick<WorkerParts, 'settings' | 'tasks' | 'commands' | 'beats' | 'events' | 'isServing'>,
    Pick<ExecutorOptions, 'handlers' | 'log' | 'nestedCall'> {
  readonly pool: SlotPool
  readonly fetch: FetchLoop
  readonly keepalive: Keepalive
  readonly pulse: Pulse
  readonly writes: FieldWrites
  readonly loop: LoopDelay
  startSpan(queue: string): ExecutorOptions['startSpan']
  /** Those that are declared in this queue. */
  tasksOf(queue: string): readonly Task[]
  readonly sharding: Sharding
  /** Whether this worker serves that queue, too. */
  serves(queue: string): boolean
}

/** The parts and the roles of a worker that serve one queue, under an identity of their own. */
export interface Crew extends WorkerContext {
  intake: Intake
  settle: Settle
  fetch: FetchLoop
  adopt: Adopt
  due: Due
  tick: Tick
  forward: Forward
  sharding: Sharding
  beat: BeatLoop
  farewell: Farewell
  show: Show
  streams: Streams
  progress: ProgressNotes
  /** From now on it takes nothing: others see it leave. */
  retreat(): void
  /** Nothing tells it of connections any more. */
  forget(): void
}

/** The crew is the context of its own roles: they find each other there. `onGone` is called when its place is to be left. */
export const makeCrew = (common: CommonParts, queueName: string, onGone: () => void): Crew => {
  const { events, fetch, keepalive, settings } = common
  // What runs asks for the roles of this crew, which are made with what it runs in.
  const parts = makeParts(common, queueName, () => crew)
  const { executor, measures, queue, workerId, isServing } = parts
  const crew: Crew = {
    ...parts,
    fetch,
    sharding: common.sharding,
    problem: where => error => events.emit('problem', { where, reason: explained(error.message) }),
    stats: seen => ({ seen, draining: !isServing(), ...measures.stats() }),
  } as Crew
  const reconcile = new Reconcile(crew)
  const retreat = new Retreat(crew, onGone)
  const onBeat: OnBeat = ({ beat, held, hasWork }) => {
    keepalive.onBeat(workerId(), queue, settings.leaseMs)
    fetch.onBeat(crew, beat, hasWork)
    measures.onBeat(beat, workerId())
    crew.show.onBeat(beat)
    crew.streams.onBeat()
    crew.progress.onBeat()
    for (const id of beat.cancelled) executor.abort(id, new HubError('Aborted', 'The caller stopped waiting.'))
    if (!isServing()) return
    common.sharding.onBeat(queue.name, beat.shards).catch(crew.problem('shards'))
    if (held) reconcile.look(held, beat.nowUs, crew.beat.sentAt, fetch.arrivingSince(crew)).catch(() => undefined)
    crew.adopt.onBeat(beat.ended)
    crew.due.onBeat(beat)
    crew.tick.onBeat(beat)
    retreat.onBeat(beat, held)
  }
  crew.intake = new Intake(crew)
  crew.settle = new Settle(crew)
  crew.adopt = new Adopt(crew)
  crew.due = new Due(crew)
  crew.tick = new Tick(crew)
  crew.forward = new Forward(crew)
  crew.beat = new BeatLoop(crew, onBeat, () => {
    const tasks = [...common.tasks.keys()]
    const { build } = settings
    events.emit('worker:started', { worker: workerId(), queue: queue.name, slots: common.pool.size, tasks, build })
  })
  crew.farewell = new Farewell(crew)
  crew.show = new Show(crew)
  crew.streams = new Streams(crew)
  crew.progress = new ProgressNotes(crew)
  fetch.add(crew)
  return crew
}

const makeParts = (
  common: CommonParts,
  queueName: string,
  crew: () => Pick<Crew, 'streams' | 'progress'>,
): WorkerParts & Pick<Crew, 'retreat' | 'forget'> => {
  const { settings, tasks, commands, beats, events, pool, pulse, loop, handlers, log, nestedCall } = common
  const clock = new RedisClock()
  const keys = makeKeys(settings.namespace)
  const queue = new Queue(queueName, keys)
  const slots = new Slots(pool)
  const forget = events.on('redis:up', () => slots.onReconnected())
  const { maxPayloadBytes, bigint } = settings
  const startSpan = common.startSpan(queueName)
  const executor = new Executor({
    ...{ tasks, handlers, pulse, maxPayloadBytes, bigint, log, startSpan, nestedCall },
    openStream: (...given) => crew().streams.open(...given),
    onProgress: (request, progress) => crew().progress.note(request, progress),
  })
  let id = newId()
  let isRetreating = false
  return {
    settings,
    tasks,
    commands,
    beats,
    clock,
    events,
    isServing: () => !isRetreating && common.isServing(),
    retreat: () => {
      isRetreating = true
    },
    forget,
    queue,
    jobQueue: new JobQueue(queueName, keys),
    slots,
    executor,
    registrar: new Registrar({
      keys,
      queue,
      writes: common.writes,
      settings,
      events,
      tasks: () => common.tasksOf(queueName),
      serves: common.serves,
    }),
    measures: new Measures({ queueName, slots, clock, events, loop }),
    workerId: () => id,
    becomeNew: () => {
      const worker = id
      id = newId()
      const aborted = executor.abandonAll(new HubError('WorkerLost', 'The lease of the worker ended.'))
      slots.reset()
      events.emit('lease:lost', { worker, queue: queueName, aborted })
    },
  }
}
