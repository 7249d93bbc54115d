import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import { maxBatchBytes } from '../../src/queue/queue.ts'
import { libraryText } from '../../src/redis/library.ts'
import { type Actors, makeActors } from './actors.ts'
import { callerSteps } from './caller-steps.ts'
import { lateSteps, lossySteps } from './late-steps.ts'
import { adopt, beat, lapse, leaseSteps, leave } from './lease-steps.ts'
import { Model } from './model.ts'
import { pauseSteps } from './pause-steps.ts'
import { compare, keys, queueKeys } from './redis-state.ts'
import { asDead } from './requests.ts'
import { serverSteps } from './server-steps.ts'
import { squatSteps } from './squat-steps.ts'
import type { Step } from './step.ts'
import { claim, settle, workerSteps } from './worker-steps.ts'

/** What a whole run does: up to 60 steps on an empty Redis, then everything is brought to its end. */
export const anySteps = (replayPath?: string): fc.Arbitrary<Iterable<Step>> =>
  fc.commands(
    [...callerSteps, ...workerSteps, ...leaseSteps, ...serverSteps, ...squatSteps, ...pauseSteps, ...lateSteps],
    {
      maxCommands: 60,
      size: 'max',
      ...(replayPath === undefined ? {} : { replayPath }),
    },
  )

/** The same of what goes on where connections break all the time, in which what is seldom in all runs comes up. */
export const anyLossySteps = (): fc.Arbitrary<Iterable<Step>> =>
  fc.commands(lossySteps, { maxCommands: 60, size: 'max' })

/** Bugs that must be found. */
interface Faults {
  settlesLost?: boolean
  /** Connections do not fence their predecessors. */
  unfenced?: boolean
  library?: string
}

/** Runs the steps and the end. Returns the model; throws at the first difference between it and Redis. */
export const run = async (redis: Redis, steps: Iterable<Step>, options: Faults = {}): Promise<Model> => {
  await redis.config('SET', 'maxmemory', 0)
  await redis.flushall()
  await redis.function('LOAD', 'REPLACE', options.library ?? libraryText())
  const model = new Model()
  const actors = { ...makeActors(redis, keys, model.workers, !options.unfenced), ...options }
  for (const worker of model.workers) await beat(model, actors, worker)
  await fc.asyncModelRun(() => ({ model, real: actors }), steps)
  await end(model, actors)
  return model
}

/** All workers died but one, which is new: it adopts, runs and answers everything, and stops. */
const end = async (model: Model, actors: Actors): Promise<void> => {
  const { redis } = actors
  await redis.config('SET', 'maxmemory', 0)
  model.isFull = false
  for (const { name } of model.workers) actors.wire.abandon(name)
  await redis.del(queueKeys.paused)
  model.pausedMs = undefined
  for (const workerId of model.leases.keys()) await lapse(model, actors, workerId)
  const last: Parameters<typeof settle>[2] = [model.workers[0]!, actors.workers[0]!]
  const [worker, actor] = last
  worker.id = 'last'
  worker.isNew = true
  worker.knows.clear()
  actor.slots.reset()
  await beat(model, actors, worker)
  for (const lostId of [...model.leases.keys()].filter(id => id !== worker.id)) {
    while (model.leases.has(lostId))
      await adopt(model, actors, last, { lostId, limit: 64, bytes: maxBatchBytes, answered: true })
  }
  const all = { slots: 100, jobs: 100, bytes: maxBatchBytes, waits: true }
  while (model.lists.calls.texts.length + model.lists.jobs.texts.length > 0) {
    for (const { id, text } of await claim(model, actors, worker, all)) {
      actor.slots.know(id)
      model.start(worker, id, text)
    }
    await settle(model, actors, last, { mask: 255, result: 0, replyOnly: false })
    await compare(redis, model)
  }
  await leave(model, actors, last)
  const dead = await redis.zrange(queueKeys.dead, '0', '-1')
  assert.deepEqual(dead.map(asDead).toSorted(), model.dead.toSorted(), 'dead jobs')
  await redis.del(queueKeys.dead)
  model.dead.length = 0
  // As hubs do when they are closed.
  for (const { id } of model.hubs) await redis.unlink(keys.reply(id), queueKeys.pushed(id))
  model.replies.clear()
  model.pushed.clear()
  await compare(redis, model)
  const open = [...model.places].filter(([, place]) => place === 'list' || place === 'held')
  assert.deepEqual(open, [], 'requests that never came to an end')
  const passing = [queueKeys.cancelled, queueKeys.reporter]
  assert((await redis.keys('*')).every(key => passing.includes(key)))
}
