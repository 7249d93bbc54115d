import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Actors } from './actors.ts'
import type { Model } from './model.ts'
import type { WorkerModel } from './processes.ts'
import { queueKeys } from './redis-state.ts'
import { messageOf, spareUsOf } from './requests.ts'
import { anyWorker, aside, oneOf, type Step, step, workerOf } from './step.ts'

type Squatted = 'calls' | 'bell' | 'jobs' | 'jobBell' | 'held'

/** Tries of each kind that come upon the key, or undefined when this one would not. */
const tries: Record<string, (model: Model, actors: Actors, worker: WorkerModel) => Promise<unknown> | undefined> = {
  push: (model, { redis, queue }) => {
    const [hub] = model.hubs
    const message = messageOf('r0', hub!.id, { task: 'once:1.0', ttl: 0, args: 0 })
    return queue.push(redis, hub!.id, hub!.number + 1, 10_000, [message])
  },
  claim: (model, { redis, queue }, { id }) => {
    // What expires meanwhile is dropped all the same; when that is only Redis knows.
    const isCertain =
      model.leaseHolds(id) &&
      [...model.lists.calls.texts, ...model.lists.jobs.texts].every(text => spareUsOf(text, model.nowUs) > 60_000_000)
    return isCertain ? queue.claim(redis, id, { slots: 100, jobs: 50 }) : undefined
  },
  handback: (model, { redis, queue }, { id }) => {
    const held = [...model.heldBy(id).keys()]
    return held.length > 0 ? queue.handback(redis, id, 'head', held) : undefined
  },
  leave: (model, { redis, queue }, { id }) => queue.leave(redis, id, [...model.heldBy(id).keys()]),
  adopt: (model, { redis, queue }, { id }) => {
    const lostId = oneOf(
      [...model.leases.keys()].filter(ended => !model.leaseHolds(ended)),
      0,
    )
    return lostId !== undefined && model.leaseHolds(id) ? queue.adopt(redis, lostId, id) : undefined
  },
}

const upon: Record<Squatted, string[]> = {
  calls: ['push', 'handback', 'leave', 'adopt'],
  bell: ['push', 'handback', 'leave', 'adopt'],
  jobs: ['handback', 'leave', 'adopt'],
  jobBell: ['handback', 'leave', 'adopt'],
  held: ['claim', 'adopt', 'leave'],
}

/** Somebody else's key lies where ours would be: functions refuse, and nothing was moved. */
const squatStep = step(
  'squat',
  fc.record({
    worker: anyWorker,
    key: fc.constantFrom<Squatted[]>('calls', 'bell', 'jobs', 'jobBell', 'held'),
    by: fc.nat(3),
  }),
  async (model, actors, { worker: number, key, by }) => {
    const suits = (id: string) => (key === 'held') !== model.held.has(id)
    const [worker] = workerOf(model, actors, number, ({ id }) => suits(id))
    const { calls, jobs } = model.lists
    const isFree = {
      calls: calls.texts.length === 0,
      bell: !calls.bell,
      jobs: jobs.texts.length === 0,
      jobBell: !jobs.bell,
      held: !model.held.has(worker.id),
    }[key]
    const tried = oneOf(upon[key], by)!
    if (!isFree || (tried === 'claim' && calls.texts.length === 0 && jobs.texts.length === 0)) return
    const name = key === 'held' ? queueKeys.held(worker.id) : queueKeys[key]
    await aside(model, actors.redis, () => actors.redis.set(name, 'somebody else'))
    const attempt = tries[tried]!(model, actors, worker)
    if (attempt) {
      // A full Redis refuses a push before it looks at anything.
      await assert.rejects(attempt, model.isFull && tried === 'push' ? /OOM/ : /WRONGTYPE/)
      model.situations.add(`refused for somebody else's key`)
    }
    await actors.redis.del(name)
  },
)

export const squatSteps: fc.Arbitrary<Step>[] = [squatStep, squatStep]
