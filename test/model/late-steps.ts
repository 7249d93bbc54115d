import fc from 'fast-check'
import { maxBatchBytes } from '../../src/queue/queue.ts'
import { okReply } from '../../src/wire/message.ts'
import type { Actors } from './actors.ts'
import { pushStep } from './caller-steps.ts'
import { adopt, beat, die, forgottenReleases, leaveAs, reconcileStep } from './lease-steps.ts'
import type { Model } from './model.ts'
import { blockingOf } from './processes.ts'
import { addressOf } from './requests.ts'
import { anyMask, anyWorker, chosen, connected, oneOf, type Step, step, type WorkerPair, workerOf } from './step.ts'
import {
  anyClaim,
  claim,
  claimStep,
  claimUnansweredStep,
  handback,
  knowsSome,
  returnable,
  type Side,
} from './worker-steps.ts'

/**
 * Commands whose connections are given up before they are answered: the process takes another connection, and does what it does about a
 * lost answer. See wire.ts for when they arrive.
 */
const giveUpClaimStep = step('giveUpClaim', anyClaim, async (model, actors, { worker: number, ...claiming }) => {
  const [worker] = workerOf(model, actors, number, ({ id }) => model.leaseHolds(id))
  const connection = blockingOf(worker)
  await actors.wire.reconnect(connection)
  const sender = { ...worker }
  actors.wire.giveUp(connection, async () => void (await claim(model, actors, sender, claiming)))
})

/** What only others can run, and what reconcile found; never repeated, since reconcile looks again. */
const giveUpHandbackStep = step(
  'giveUpHandback',
  fc.record({ worker: anyWorker, mask: anyMask, side: fc.constantFrom<Side[]>('head', 'tail') }),
  async (model, actors, { worker: number, mask, side }) => {
    const unanswered = (model: Model, { id, knows, released }: WorkerPair[0]) =>
      [...model.heldBy(id).keys()].filter(each => !knows.has(each) && !released.has(each) && !each.startsWith('lost:'))
    const [worker, actor] = await connected(
      model,
      actors,
      number,
      candidate => returnable(candidate).length + unanswered(model, candidate).length > 0,
    )
    const ids = chosen([...returnable(worker).map(([id]) => id), ...unanswered(model, worker)], mask)
    if (ids.length === 0) return
    for (const id of ids) worker.knows.delete(id)
    actor.slots.forget(ids)
    const { id } = worker
    actors.wire.giveUp(worker.name, () => handback(model, actors, id, side, ids))
  },
)

/** Replies and releases, which are repeated until they are answered. */
const giveUpSettleStep = step(
  'giveUpSettle',
  fc.record({ worker: anyWorker, mask: anyMask }),
  async (model, actors, { worker: number, mask }) => {
    const [worker, actor] = await connected(model, actors, number, knowsSome)
    const { id } = worker
    const ending = chosen(worker.knows, mask)
    if (ending.length === 0) return
    const send = () => replyAndRelease(model, actors, id, ending)
    const again = async () => {
      if (worker.id !== id) return
      await send()
      for (const [heldId, text] of ending) {
        worker.knows.delete(heldId)
        worker.released.set(heldId, { text, as: id })
      }
      actor.slots.released(ending.map(([heldId]) => heldId))
    }
    actors.wire.giveUp(worker.name, send, again)
  },
)

const replyAndRelease = async (
  model: Model,
  { redis, queue }: Actors,
  workerId: string,
  ending: [heldId: string, text: string][],
): Promise<void> => {
  for (const [heldId, text] of ending) {
    const { id, hubId } = addressOf(text, heldId)
    if (hubId === undefined) continue
    const reply = okReply(id, 'null', workerId, { backlog: 1, queue: 2, exec: 3 })
    await queue.reply(redis, hubId, [reply])
    model.reply(hubId, [reply])
  }
  const ids = ending.map(([id]) => id)
  await queue.release(redis, workerId, ids)
  model.release(workerId, ids)
}

/** Of one that is lost; what was moved is for reconcile to find. */
const giveUpAdoptStep = step(
  'giveUpAdopt',
  fc.record({ worker: anyWorker, from: fc.nat(20) }),
  async (model, actors, { worker: number, from }) => {
    const [worker, actor] = await connected(model, actors, number, ({ id }) => model.leaseHolds(id))
    const ended = [...model.leases.keys()].filter(id => !model.leaseHolds(id))
    const lostId = oneOf(ended, from)
    if (lostId === undefined) return
    const sender = { ...worker }
    const adopting = { lostId, limit: 64, bytes: maxBatchBytes, answered: false }
    actors.wire.giveUp(worker.name, () => adopt(model, actors, [sender, actor], adopting))
  },
)

/** Its process goes on, with another beat, or leaves, and nobody fences what it sent last. */
const giveUpLeaseStep = step(
  'giveUpLease',
  fc.record({ worker: anyWorker, leaves: fc.boolean() }),
  async (model, actors, { worker: number, leaves }) => {
    const { redis, queue, wire } = actors
    const [worker, actor] = await connected(model, actors, number)
    const sender = { ...worker }
    if (!leaves) {
      wire.giveUp(worker.name, async () => void (await beat(model, actors, sender)))
      return
    }
    // A worker that leaves looks first, and then sends this on the same connection: what a failover brought back is released again.
    const ended = forgottenReleases(model, worker)
    if (ended.length > 0) await queue.release(redis, sender.id, ended)
    model.release(sender.id, ended)
    const started = actor.slots.knownIds()
    const act = () => queue.leave(redis, sender.id, started)
    wire.giveUp(worker.name, () => leaveAs(model, redis, sender.id, started, act))
    die(actors, [worker, actor])
  },
)

const arriveStep = step('arrive', fc.record({ which: fc.nat(20) }), async (model, { wire }, { which }) => {
  if (await wire.arrive(which)) model.situations.add('a given-up command arrived')
})

const reconnectStep = step(
  'reconnect',
  fc.record({ worker: fc.nat(2), connection: fc.nat(2) }),
  async (model, { wire }, { worker, connection }) => {
    const { [worker]: of } = model.workers
    if (await wire.reconnect([of!.name, blockingOf(of!), 'hub'][connection]!))
      model.situations.add('a given-up command never arrived')
  },
)

export const lossySteps: fc.Arbitrary<Step>[] = [
  pushStep,
  claimStep,
  claimStep,
  claimUnansweredStep,
  giveUpHandbackStep,
  reconcileStep,
  arriveStep,
]

export const lateSteps: fc.Arbitrary<Step>[] = [
  giveUpClaimStep,
  giveUpHandbackStep,
  giveUpHandbackStep,
  giveUpSettleStep,
  giveUpSettleStep,
  giveUpAdoptStep,
  giveUpLeaseStep,
  arriveStep,
  arriveStep,
  arriveStep,
  reconnectStep,
]
