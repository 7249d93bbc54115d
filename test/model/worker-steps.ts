import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Claimed } from '../../src/answers.ts'
import { okReply } from '../../src/message.ts'
import type { ClaimOptions } from '../../src/queue.ts'
import { readTake } from '../../src/taken.ts'
import { Volley } from '../../src/volley.ts'
import type { Actors } from './actors.ts'
import type { Model } from './model.ts'
import type { WorkerModel } from './processes.ts'
import { addressOf, heldIdOf, leadingIdOf, spareUsOf, taskOf } from './requests.ts'
import {
  anyMask,
  anyWorker,
  chosen,
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
}

/** What a worker hears of: each request with the id that it is held under. */
interface Heard {
  id: string
  text: string
  isTaken: boolean
}

const heardOf = (claimed: Claimed | undefined): Heard[] =>
  (claimed?.requests ?? []).map(({ text, madeUpId, isJob, isTaken }) => ({
    text,
    id: heldIdOf(madeUpId ?? leadingIdOf(text)!, isJob),
    isTaken,
  }))

/** The id made up for the request at a position: one that is an id, and new. */
const madeUpIn = (model: Model, workerId: string, claimed: Claimed | undefined) => (position: number) => {
  const madeUp = claimed?.requests[position]?.madeUpId
  assert(madeUp && /^[\w-]{1,64}$/.test(madeUp), `${madeUp} is no id`)
  const held = model.heldBy(workerId)
  assert(!held.has(madeUp) && !held.has(heldIdOf(madeUp, true)), `${madeUp} was made up twice`)
  return madeUp
}

export const claim = async (
  model: Model,
  { redis, queue }: Actors,
  worker: WorkerModel,
  { waits, ...wanted }: Claiming,
): Promise<Heard[]> => {
  // Without a token it would block.
  const rung = [model.lists.calls, ...(wanted.jobs > 0 ? [model.lists.jobs] : [])].find(({ bell }) => bell)
  const token = waits ? rung : undefined
  const started = await readTime(redis)
  const claimed = await queue[token ? 'waitAndClaim' : 'claim'](redis, worker.id, wanted)
  sawTime(model, claimed?.nowUs ?? started)
  if (token) token.bell = false
  const expected = model.claim(worker.id, wanted, madeUpIn(model, worker.id, claimed))
  assert.deepEqual(claimed, expected)
  if (!claimed && token) token.mayBeSilent = true
  return heardOf(claimed)
}

/** Without the claim script, where a token is there; else it would block. */
const take = async (model: Model, actors: Actors, worker: WorkerModel, wanted: ClaimOptions): Promise<Heard[]> => {
  const rings = (name: 'calls' | 'jobs') => model.lists[name].bell
  const rung = rings('calls') ? 'calls' : wanted.jobs > 0 && rings('jobs') ? 'jobs' : undefined
  // A full Redis runs the script instead, which a step of its own does.
  if (!rung || model.isFull) return []
  // The claim behind the take has a time of its own, which only Redis knows.
  const spare = (text: string) => spareUsOf(text, model.nowUs)
  if (model.lists.calls.texts.some(text => spare(text) > 0 && spare(text) < 60_000_000)) return []
  const { redis, queue } = actors
  const started = await readTime(redis)
  const taken = await queue.waitAndTake(redis, worker.id, wanted)
  sawTime(model, taken?.nowUs ?? started)
  model.lists[rung].bell = false
  const expected = model.take(worker.id, rung, wanted, madeUpIn(model, worker.id, taken))
  assert.deepEqual(taken, expected)
  return heardOf(taken)
}

const anyTake = fc.record({
  worker: anyWorker,
  slots: fc.constantFrom(2, 100),
  jobs: fc.nat(1),
  runTimes: fc.constant([]),
})

const takeStep = step('take', anyTake, async (model, actors, { worker: number, ...wanted }) => {
  const [worker, actor] = workerOf(model, actors, number, ({ id }) => model.leaseHolds(id))
  for (const { id, text, isTaken } of await take(model, actors, worker, wanted)) {
    actor.slots.take(id)
    model.start(worker, id, text)
    if (isTaken) worker.took.add(id)
  }
})

/** It is made, and the connection breaks before the answer is here. */
const takeUnansweredStep = step('takeUnanswered', anyTake, async (model, actors, { worker: number, ...wanted }) => {
  const [worker] = workerOf(model, actors, number, ({ id }) => model.leaseHolds(id))
  await take(model, actors, worker, wanted)
})

/** A wait of a worker that left, or was adopted from, was on its way all the time. */
const takeLateStep = step('takeLate', fc.record({ which: fc.nat(20) }), async (model, { redis, queue }, { which }) => {
  const workerId = oneOf(model.refused.keys(), which)
  if (workerId === undefined) return
  const volley = new Volley(redis)
  queue.taken.addTake(volley, workerId)
  if (model.isFull) await volley.answers
  else {
    const { text, hasLease } = readTake(await volley.answers)
    assert.deepEqual({ text, hasLease }, { text: undefined, hasLease: false })
  }
  model.situations.add('a refused take')
})

/** Requests of these runs live for an hour; some tasks are said to run for longer. */
const anyRunTimes = fc.constantFrom(
  [],
  [],
  [],
  ['once:1.0', 4_000_000_000],
  ['foreign:1.0', 4_000_000_000, 'again:1.0', 60_000_000],
)
const anyClaim = fc.record({
  worker: anyWorker,
  slots: fc.oneof({ weight: 3, arbitrary: fc.integer({ min: 1, max: 4 }) }, fc.constant(100)),
  jobs: fc.constantFrom(0, 1, 1, 2, 100),
  waits: fc.boolean(),
  runTimes: anyRunTimes,
})

const claimStep = step('claim', anyClaim, async (model, actors, { worker: number, ...claiming }) => {
  const [worker, actor] = workerOf(model, actors, number, ({ id }) => model.leaseHolds(id))
  for (const { id, text } of await claim(model, actors, worker, claiming)) {
    actor.slots.take(id)
    model.start(worker, id, text)
  }
})

/** It is made, and the connection breaks before the answer is here. */
const claimUnansweredStep = step(
  'claimUnanswered',
  anyClaim,
  async (model, actors, { worker: number, ...claiming }) => {
    const [worker] = workerOf(model, actors, number, ({ id }) => model.leaseHolds(id))
    await claim(model, actors, worker, claiming)
  },
)

interface Settling {
  mask: number
  result: number
  /** The process is cut off between reply and release: both come again with the next settling, or never. */
  replyOnly: boolean
}

const knowsSome = ({ knows }: WorkerModel) => knows.size > 0

/** Short ones go as plain commands, long and many ones with the script. */
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
    const taken = worker.took.has(id) ? text : undefined
    return { id, workerId: worker.id, hubId: address.hubId, reply, taken, slot: true }
  })
  if (settlements.length === 0) return
  if (replyOnly) {
    for (const { hubId, reply } of settlements) if (hubId !== undefined) await queue.replies.push(redis, hubId, [reply])
  } else {
    for (const settlement of settlements) actor.settle.add(settlement)
    await actor.settle.drained()
    const ids = ending.map(([id]) => id)
    model.release(worker.id, ids)
    for (const id of ids) {
      worker.knows.delete(id)
      worker.took.delete(id)
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
  (model, actors, { worker, ...settling }) =>
    settle(model, actors, workerOf(model, actors, worker, knowsSome), settling),
)

/** Handlers that were started under the lost identity end now: whoever adopted from it answers for them. */
const settleLateStep = step(
  'settleLate',
  fc.record({ worker: anyWorker }),
  async (model, actors, { worker: number }) => {
    const [worker, actor] = workerOf(model, actors, number, ({ former }) => (former?.knew.length ?? 0) > 0)
    if (!worker.former || worker.former.knew.length === 0) return
    const { id: workerId, knew } = worker.former
    for (const [id, text] of knew) {
      const { hubId } = addressOf(text, id)
      actor.settle.add({ id, workerId, hubId, reply: `{"id":"${id}","ok":true}`, slot: false })
    }
    actor.settlesAs = actors.unfenced ? workerId : undefined
    await actor.settle.drained()
    actor.settlesAs = undefined
    model.situations.add('settled under a lost identity')
  },
)

/** What only other workers can run goes back, as it is or with a new text; sent twice when its answer was lost. */
const handbackStep = step(
  'handback',
  fc.record({
    worker: anyWorker,
    mask: anyMask,
    side: fc.constantFrom('head' as const, 'tail' as const),
    newText: fc.boolean(),
    twice: fc.boolean(),
  }),
  async (model, actors, { worker: number, mask, side, newText, twice }) => {
    const { redis, queue } = actors
    // Those that must not run twice were started when they were claimed.
    const returnable = ({ knows }: WorkerModel) => [...knows].filter(([, text]) => taskOf(text) !== 'once:1.0')
    const [worker, actor] = workerOf(model, actors, number, candidate => returnable(candidate).length > 0)
    const requests = chosen(returnable(worker), mask).map(([id, text]) => ({
      id,
      ...(newText ? { text: text.replace(/\}$/, ',"from":"w"}') } : {}),
      taken: worker.took.has(id) ? text : undefined,
    }))
    if (requests.length === 0) return
    for (let time = 0; time < (twice ? 2 : 1); time++) {
      const returned = await queue.handback(redis, worker.id, side, requests)
      assert.equal(returned, model.handback(worker.id, side, requests))
    }
    for (const { id } of requests) {
      worker.knows.delete(id)
      worker.took.delete(id)
    }
    actor.slots.forget(requests.map(({ id }) => id))
    model.situations.add(`handed back to the ${side}`)
    if (twice) model.situations.add('handed back twice')
  },
)

export const workerSteps: fc.Arbitrary<Step>[] = [
  claimStep,
  claimStep,
  claimStep,
  claimStep,
  claimUnansweredStep,
  claimUnansweredStep,
  takeStep,
  takeStep,
  takeStep,
  takeUnansweredStep,
  takeUnansweredStep,
  takeLateStep,
  settleStep,
  settleStep,
  settleLateStep,
  handbackStep,
  handbackStep,
]
