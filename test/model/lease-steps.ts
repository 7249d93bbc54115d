import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { deadMs, maxBatchBytes, maxDead, reporterMs } from '../../src/queue/queue.ts'
import { run } from '../../src/redis/library.ts'
import { type Adopted, readAdopted } from '../../src/wire/answers.ts'
import type { Actors, WorkerActor } from './actors.ts'
import { cancelMemoryMs } from './caller-steps.ts'
import type { ListName } from './holdings.ts'
import type { Model } from './model.ts'
import { becomeNew, blockingOf, type WorkerModel } from './processes.ts'
import { queueKeys } from './redis-state.ts'
import { asDead } from './requests.ts'
import {
  anyWorker,
  aside,
  connected,
  oneOf,
  readTime,
  type Step,
  sawTime,
  step,
  type WorkerPair,
  workerOf,
} from './step.ts'

/** Ends only when a step says so. */
const leaseMs = 3_600_000

export const beat = async (
  model: Model,
  { redis, queue }: Actors,
  worker: WorkerModel,
  reports = false,
): Promise<boolean> => {
  const answer = await queue.beat(redis, worker.id, leaseMs, worker.isNew, { reports })
  sawTime(model, answer.nowUs)
  if (answer.cancelled.length === 0 && answer.nowUs >= model.cancelledUntilMs * 1000) model.cancelled.clear()
  const expected = model.beat(worker.id, worker.isNew, leaseMs, cancelMemoryMs, reports ? reporterMs : 0)
  assert.deepEqual({ ...answer, cancelled: answer.cancelled.toSorted() }, expected)
  if (answer.held) worker.isNew = false
  return answer.held
}

const forgetAll = (worker: WorkerModel, actor: WorkerActor): void => {
  becomeNew(worker)
  actor.slots.reset()
}

const anyBeat = fc.record({ worker: anyWorker, reports: fc.boolean() })
const beatStep = step('beat', anyBeat, async (model, actors, { worker: number, reports }) => {
  const [worker, actor] = await connected(model, actors, number, ({ id }) => !model.leaseHolds(id))
  if (await beat(model, actors, worker, reports)) return
  model.situations.add('a lost lease')
  forgetAll(worker, actor)
  assert(await beat(model, actors, worker, reports))
})

/** Its process ends, and another takes its place. */
export const die = ({ wire }: Actors, [worker, actor]: WorkerPair): void => {
  wire.abandon(worker.name)
  wire.abandon(blockingOf(worker))
  forgetAll(worker, actor)
}

const crashStep = step('crash', fc.record({ worker: anyWorker }), async (model, actors, { worker: number }) => {
  const [worker, actor] = workerOf(model, actors, number, ({ knows }) => knows.size > 0)
  die(actors, [worker, actor])
})

/** Time passes for one lease: it ended a moment ago. */
export const lapse = async (model: Model, { redis }: Actors, workerId: string): Promise<void> => {
  const end = Math.floor((await readTime(redis)) / 1000) - 1
  await aside(model, redis, () => redis.zadd(queueKeys.leases, 'XX', end, workerId))
  model.leases.set(workerId, end)
}

/** Most often of a worker that holds something. */
const lapseStep = step('lapse', fc.record({ which: fc.nat(20) }), async (model, actors, { which }) => {
  const live = [...model.leases.keys()].filter(id => model.leaseHolds(id))
  const holding = live.filter(id => model.held.has(id))
  const workerId = oneOf(holding.length > 0 && which % 4 > 0 ? holding : live, which)
  if (workerId !== undefined) await lapse(model, actors, workerId)
})

const answer = async (model: Model, [worker, actor]: WorkerPair, requests: Adopted['toAnswer']): Promise<void> => {
  actor.adopt.answer(requests, worker.id)
  await actor.settle.drained()
  model.answer(worker, requests)
}

/** Parts are as large as a worker's, or so small that several are needed. */
const adoptSome = async (
  { redis, queue }: Actors,
  lostId: string,
  workerId: string,
  limit: number,
  bytes: number,
): Promise<Adopted | undefined> => {
  if (limit === 64 && bytes === maxBatchBytes) return queue.adopt(redis, lostId, workerId)
  const { leases, held, calls, bell, jobs, jobBell } = queueKeys
  const adoptKeys = [leases, held(lostId), held(workerId), calls, bell, jobs, jobBell]
  return readAdopted(await run(redis, 'adopt', adoptKeys, [lostId, workerId, limit, bytes, maxDead, deadMs]))
}

export interface Adopting {
  lostId: string
  limit: number
  bytes: number
  /** The answer was lost: what was moved is for reconcile to find. */
  answered: boolean
}

/** What comes out of a hash has no order, and what is dropped is not told. */
const inOrder = (adopted: Adopted | undefined): Adopted | undefined => {
  const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)
  const dead = adopted?.dead.map(({ id, text }) => ({ id, text: asDead(text) })).toSorted(byId) ?? []
  return adopted && { ...adopted, toAnswer: adopted.toAnswer.toSorted(byId), dead }
}

export const adopt = async (
  model: Model,
  actors: Actors,
  [worker, actor]: WorkerPair,
  { lostId, limit, bytes, answered }: Adopting,
): Promise<void> => {
  const { redis } = actors
  const before = [...model.heldBy(lostId).keys()]
  const beforeUs = await readTime(redis)
  const adopted = await adoptSome(actors, lostId, worker.id, limit, bytes)
  sawTime(model, await readTime(redis))
  const left = new Set(await redis.hkeys(queueKeys.held(lostId)))
  const told = [adopted?.redelivered, adopted?.toAnswer, adopted?.dead].flatMap(list => list ?? []).map(({ id }) => id)
  const own = told.map(id => (before.includes(id) ? id : id.replace(/^lost:/, '')))
  const untold = before.filter(id => !left.has(id) && !own.includes(id))
  const moved = [...own.map(id => ({ id, isTold: true })), ...untold.map(id => ({ id, isTold: false }))]
  assert.deepEqual(inOrder(adopted), inOrder(model.adopt(lostId, worker.id, { limit, bytes }, moved, beforeUs)))
  if (adopted && answered) await answer(model, [worker, actor], adopted.toAnswer)
}

const adoptStep = step(
  'adopt',
  fc.record({
    worker: anyWorker,
    from: fc.nat(20),
    limit: fc.constantFrom(1, 2, 64),
    bytes: fc.constantFrom(maxBatchBytes, maxBatchBytes, 1, 300),
    answered: fc.boolean(),
  }),
  async (model, actors, { worker: number, from, ...adopting }) => {
    const worker = await connected(model, actors, number, ({ id }) => model.leaseHolds(id))
    // Most often from one that can be adopted from, else from any.
    const ended = [...model.leases.keys()].filter(id => !model.leaseHolds(id))
    const lostId = oneOf(ended.length > 0 && from % 4 > 0 ? ended : model.leases.keys(), from)
    if (lostId !== undefined) await adopt(model, actors, worker, { lostId, ...adopting })
  },
)

const reconcile = async (model: Model, { redis, queue }: Actors, [worker, actor]: WorkerPair): Promise<void> => {
  actor.found = []
  actor.putBack = []
  await actor.reconcile.look(await queue.heldIds(redis, worker.id), 0, Number.POSITIVE_INFINITY)
  const unknown = [...model.heldBy(worker.id)].filter(([id]) => !worker.knows.has(id))
  const expected = unknown.filter(([id]) => worker.suspects.has(id))
  worker.suspects = new Set(unknown.map(([id]) => id))
  const ended = expected.filter(([id]) => worker.released.has(id))
  if (ended.length > 0) model.situations.add('a forgotten release found')
  model.release(
    worker.id,
    ended.map(([id]) => id),
  )
  const open = expected.filter(([id]) => !worker.released.has(id))
  const isAdopted = ([id]: [string, string]) => id.startsWith('lost:')
  const unanswered = open.filter(entry => !isAdopted(entry)).map(([id]) => id)
  assert.deepEqual(actor.putBack.toSorted(), unanswered.toSorted())
  if (unanswered.length > 0) {
    model.situations.add('a lost claim found')
    assert.equal(model.handback(worker.id, 'head', actor.putBack), unanswered.length)
  }
  assert.deepEqual(new Map(actor.found.map(({ id, text }) => [id, text])), new Map(open.filter(isAdopted)))
  if (actor.found.length > 0) model.situations.add('a lost adoption found')
  await answer(model, [worker, actor], actor.found)
}

/** Only the second look in a row finds something; other steps may come in between. */
export const reconcileStep = step(
  'reconcile',
  fc.record({ worker: anyWorker, looks: fc.integer({ min: 1, max: 2 }) }),
  async (model, actors, { worker: number, looks }) => {
    const worker = await connected(model, actors, number, ({ id, knows }) => {
      return model.heldBy(id).size > knows.size
    })
    for (let look = 0; look < looks; look++) await reconcile(model, actors, worker)
  },
)

/** `act` has a worker leave under this identity, for which it had started what `started` names. */
export const leaveAs = async (
  model: Model,
  redis: Redis,
  workerId: string,
  started: string[],
  act: () => Promise<number>,
): Promise<void> => {
  const { calls, jobs } = model.lists
  const before = { calls: calls.texts.length, jobs: jobs.texts.length }
  const returned = await act()
  // Those that stay are behind them, and were there before.
  const headOf = async (list: ListName) => {
    const texts = await redis.lrange(queueKeys[list], 0, -1)
    return texts.slice(0, texts.length - before[list])
  }
  const heads = { calls: await headOf('calls'), jobs: await headOf('jobs') }
  assert.equal(returned, model.leave(workerId, started, heads))
}

/** What it released, and a failover brought back. */
export const forgottenReleases = (model: Model, worker: WorkerModel): string[] =>
  [...model.heldBy(worker.id).keys()].filter(id => worker.released.has(id))

export const leave = async (model: Model, actors: Actors, [worker, actor]: WorkerPair): Promise<void> => {
  const ended = forgottenReleases(model, worker)
  const act = async () => {
    const returned = await actor.farewell.leave()
    model.release(worker.id, ended)
    return returned
  }
  await leaveAs(model, actors.redis, worker.id, actor.slots.knownIds(), act)
  if (ended.length > 0) model.situations.add('left with a forgotten release')
  die(actors, [worker, actor])
}

const leaveStep = step(
  'leave',
  fc.record({ worker: anyWorker, isAdopting: fc.boolean() }),
  async (model, actors, { worker: number, isAdopting }) => {
    const [worker, actor] = await connected(model, actors, number, ({ id }) => model.held.has(id))
    // It was about to answer these.
    if (isAdopting) for (const id of model.heldBy(worker.id).keys()) if (id.startsWith('lost:')) actor.slots.know(id)
    await leave(model, actors, [worker, actor])
  },
)

export const leaseSteps: fc.Arbitrary<Step>[] = [
  beatStep,
  beatStep,
  beatStep,
  crashStep,
  lapseStep,
  lapseStep,
  adoptStep,
  adoptStep,
  adoptStep,
  reconcileStep,
  reconcileStep,
  leaveStep,
]
