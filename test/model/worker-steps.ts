import assert from 'node:assert/strict'
import fc from 'fast-check'
import { type ClaimOptions, maxBatchBytes } from '../../src/queue/queue.ts'
import { run } from '../../src/redis/library.ts'
import { type Claimed, readClaimed } from '../../src/wire/answers.ts'
import { okReply } from '../../src/wire/message.ts'
import type { Actors } from './actors.ts'
import type { Model } from './model.ts'
import { blockingOf, type WorkerModel } from './processes.ts'
import { queueKeys } from './redis-state.ts'
import { addressOf, heldIdOf, leadingIdOf, nameOf, taskOf } from './requests.ts'
import {
  anyMask,
  anyWorker,
  aside,
  chosen,
  connected,
  oneOf,
  readTime,
  type Step,
  sawTime,
  step,
  type WorkerPair,
  workerOf,
} from './step.ts'

interface Claiming extends ClaimOptions {
  /** On the bell's connection; else on the other one. */
  waits: boolean
  /** Beyond these nothing more is taken. */
  bytes: number
}

/** What a worker hears of: each request with the id that it is held under. */
interface Heard {
  id: string
  text: string
}

const heardOf = (claimed: Claimed | undefined): Heard[] =>
  (claimed?.requests ?? []).map(({ text, madeUpId, isJob }) => ({
    text,
    id: heldIdOf(madeUpId ?? leadingIdOf(text)!, isJob),
  }))

/** The id made up for the request at a position: one that is an id, and new. */
const madeUpIn = (model: Model, workerId: string, claimed: Claimed | undefined) => (position: number) => {
  const madeUp = claimed?.requests[position]?.madeUpId
  assert(madeUp && /^[\w-]{1,64}$/.test(madeUp), `${madeUp} is no id`)
  const held = model.heldBy(workerId)
  assert(!held.has(madeUp) && !held.has(heldIdOf(madeUp, true)), `${madeUp} was made up twice`)
  return madeUp
}

/** As the queue claims, or with another bound: few bytes are reached by short messages too. */
const claimUpTo = async (
  { redis, queue }: Actors,
  workerId: string,
  { slots, jobs }: ClaimOptions,
  bytes: number,
): Promise<Claimed | undefined> => {
  if (bytes === maxBatchBytes) return queue.claim(redis, workerId, { slots, jobs })
  const { calls, bell, held, leases, jobs: jobList, jobBell } = queueKeys
  const claimKeys = [calls, bell, held(workerId), leases, jobList, jobBell]
  return readClaimed(await run(redis, 'claim', claimKeys, [workerId, slots, jobs, bytes]))
}

export const claim = async (
  model: Model,
  actors: Actors,
  worker: WorkerModel,
  { waits, bytes, ...wanted }: Claiming,
): Promise<Heard[]> => {
  const { redis, queue } = actors
  // Without a token it would block.
  const rung = [model.lists.calls, ...(wanted.jobs > 0 ? [model.lists.jobs] : [])].find(({ bell }) => bell)
  const token = waits && bytes === maxBatchBytes ? rung : undefined
  const started = await readTime(redis)
  const claimed = token
    ? await queue.waitAndClaim(redis, worker.id, wanted)
    : await claimUpTo(actors, worker.id, wanted, bytes)
  sawTime(model, claimed?.nowUs ?? started)
  if (token) token.bell = false
  const expected = model.claim(worker.id, wanted, bytes, madeUpIn(model, worker.id, claimed))
  assert.deepEqual(claimed, expected)
  if (!claimed && token) token.mayBeSilent = true
  return heardOf(claimed)
}

export const anyClaim = fc.record({
  worker: anyWorker,
  slots: fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 1, max: 4 }) }, fc.constant(100)),
  jobs: fc.constantFrom(0, 1, 1, 2, 100),
  waits: fc.boolean(),
  bytes: fc.oneof({ weight: 4, arbitrary: fc.constant(maxBatchBytes) }, fc.constantFrom(1, 200, 1000)),
})

export const claimStep = step('claim', anyClaim, async (model, actors, { worker: number, ...claiming }) => {
  const [worker, actor] = workerOf(model, actors, number, ({ id }) => model.leaseHolds(id))
  await actors.wire.reconnect(blockingOf(worker))
  for (const { id, text } of await claim(model, actors, worker, claiming)) {
    actor.slots.know(id)
    model.start(worker, id, text)
  }
})

/** It is made, and the connection breaks before the answer is here. */
export const claimUnansweredStep = step(
  'claimUnanswered',
  anyClaim,
  async (model, actors, { worker: number, ...claiming }) => {
    const [worker] = workerOf(model, actors, number, ({ id }) => model.leaseHolds(id))
    await actors.wire.reconnect(blockingOf(worker))
    await claim(model, actors, worker, claiming)
  },
)

interface Settling {
  mask: number
  result: number
  /** The process is cut off between reply and release: both come again with the next settling, or never. */
  replyOnly: boolean
}

export const knowsSome = ({ knows }: WorkerModel) => knows.size > 0

/** Short ones go as plain commands, long and many ones with the function. */
const results = ['null', '[]', '{"big":9007199254740993,"text":"\\ud800 \u00e9"}', `"${'y'.repeat(500)}"`]

export const settle = async (
  model: Model,
  { redis, queue }: Actors,
  [worker, actor]: WorkerPair,
  { mask, result, replyOnly }: Settling,
): Promise<void> => {
  const ending = chosen(worker.knows, mask)
  const settlements = ending.map(([id, text]) => {
    const address = addressOf(text, id)
    const reply = okReply(address.id, results[result]!, worker.id, { backlog: 1, queue: 2, exec: 3 })
    return { id, workerId: worker.id, hubId: address.hubId, reply, slot: undefined }
  })
  if (settlements.length === 0) return
  if (replyOnly) {
    for (const { hubId, reply } of settlements) if (hubId !== undefined) await queue.reply(redis, hubId, [reply])
  } else {
    for (const settlement of settlements) actor.settle.add(settlement)
    await actor.settle.drained()
    const ids = ending.map(([id]) => id)
    model.release(worker.id, ids)
    for (const [id, text] of ending) {
      worker.knows.delete(id)
      worker.released.set(id, { text, as: worker.id })
    }
  }
  for (const { hubId, reply } of settlements) if (hubId !== undefined) model.reply(hubId, [reply])
  if (settlements.length > 32) model.situations.add('many replies')
  if (model.isFull) model.situations.add('replies to a full Redis')
}

const settleStep = step(
  'settle',
  fc.record({
    worker: anyWorker,
    mask: fc.oneof(anyMask, fc.constant(255)),
    result: fc.nat(3),
    replyOnly: fc.constantFrom(false, false, false, true),
  }),
  async (model, actors, { worker, ...settling }) =>
    settle(model, actors, await connected(model, actors, worker, knowsSome), settling),
)

/** Handlers that were started under the lost identity end now: whoever adopted from it answers for them. */
const settleLateStep = step(
  'settleLate',
  fc.record({ worker: anyWorker }),
  async (model, actors, { worker: number }) => {
    const [worker, actor] = await connected(model, actors, number, ({ former }) => (former?.knew.length ?? 0) > 0)
    if (!worker.former || worker.former.knew.length === 0) return
    const { id: workerId, knew } = worker.former
    for (const [id, text] of knew) {
      const { hubId } = addressOf(text, id)
      actor.settle.add({ id, workerId, hubId, reply: `{"id":"${id}","ok":true}`, slot: undefined })
    }
    actor.settlesAs = actors.settlesLost ? workerId : undefined
    await actor.settle.drained()
    actor.settlesAs = undefined
    model.situations.add('settled under a lost identity')
  },
)

/** Those that must not run twice were started when they were claimed. */
export const returnable = ({ knows }: WorkerModel) => [...knows].filter(([, text]) => taskOf(text) !== 'once:1.0')

export type Side = 'head' | 'tail'
export const handback = async (
  model: Model,
  { redis, queue }: Actors,
  workerId: string,
  side: Side,
  ids: string[],
): Promise<void> => {
  const returned = await queue.handback(redis, workerId, side, ids)
  assert.equal(returned, model.handback(workerId, side, ids))
}

/** What only other workers can run goes back; sent twice when its answer was lost. */
const handbackStep = step(
  'handback',
  fc.record({
    worker: anyWorker,
    mask: anyMask,
    side: fc.constantFrom<Side[]>('head', 'tail'),
    twice: fc.boolean(),
  }),
  async (model, actors, { worker: number, mask, side, twice }) => {
    const [worker, actor] = await connected(model, actors, number, candidate => returnable(candidate).length > 0)
    const ids = chosen(returnable(worker), mask).map(([id]) => id)
    if (ids.length === 0) return
    for (let time = 0; time < (twice ? 2 : 1); time++) await handback(model, actors, worker.id, side, ids)
    for (const id of ids) worker.knows.delete(id)
    actor.slots.forget(ids)
    model.situations.add(`handed back to the ${side}`)
    if (twice) model.situations.add('handed back twice')
  },
)

/** A replica is promoted that had not heard of a release: what ended is held again. */
const failoverStep = step(
  'failover',
  fc.record({ worker: anyWorker, which: fc.nat(20) }),
  async (model, actors, { worker: number, which }) => {
    // Not what another worker had adopted by then: that release found nothing.
    const isOver = (text: string) => model.places.get(nameOf(text)) === 'released'
    const releasedBy = ({ id, released }: WorkerModel) =>
      [...released].filter(([, { as, text }]) => as === id && isOver(text))
    const [worker] = workerOf(model, actors, number, candidate => releasedBy(candidate).length > 0)
    const [id, { text }] = oneOf(releasedBy(worker), which) ?? [undefined, { text: '' }]
    if (id === undefined || !model.leases.has(worker.id)) return
    await aside(model, actors.redis, () => actors.redis.hset(queueKeys.held(worker.id), id, text))
    model.forgetRelease(worker, id)
  },
)

export const workerSteps: fc.Arbitrary<Step>[] = [
  claimStep,
  claimStep,
  claimStep,
  claimStep,
  claimUnansweredStep,
  claimUnansweredStep,
  settleStep,
  settleStep,
  settleLateStep,
  failoverStep,
  failoverStep,
  handbackStep,
  handbackStep,
]
