import assert from 'node:assert/strict'
import fc from 'fast-check'
import { pauseQueue, resumeQueue } from '../../src/queue/pause.ts'
import { beat } from './lease-steps.ts'
import { keys, queueKeys } from './redis-state.ts'
import { anyWorker, aside, isOutOfMemory, readTime, type Step, step, workerOf } from './step.ts'

/** A full Redis refuses a new pause. */
const pauseStep = step('pause', fc.constant({}), async (model, { redis }) => {
  const before = Math.floor((await readTime(redis)) / 1000)
  const attempt = pauseQueue(redis, keys, 'q')
  if (model.isFull) return void (await assert.rejects(attempt, isOutOfMemory))
  const answer = await attempt
  const nowMs = model.pausedMs ?? answer.pausedMs
  assert(nowMs >= before || model.pausedMs !== undefined, 'paused in the past')
  assert.deepEqual(answer, model.pause(nowMs))
})

const resumeStep = step('resume', fc.constant({}), async (model, { redis }) => {
  assert.equal(await resumeQueue(redis, keys, 'q'), model.resume())
})

/** Somebody else's key lies where a pause would be: a worker keeps its lease, and is not paused. */
const foreignStep = step(
  'foreignPause',
  fc.record({ worker: anyWorker, isText: fc.boolean() }),
  async (model, actors, { worker: number, isText }) => {
    if (model.pausedMs !== undefined) return
    const { redis } = actors
    const [worker] = workerOf(model, actors, number, ({ id }) => model.leases.has(id))
    if (!worker.isNew && !model.leases.get(worker.id)) return
    await aside(model, redis, () =>
      isText ? redis.set(queueKeys.paused, 'somebody else') : redis.rpush(queueKeys.paused, '1'),
    )
    await beat(model, actors, worker)
    await redis.del(queueKeys.paused)
    model.situations.add("no pause for somebody else's key")
  },
)

export const pauseSteps: fc.Arbitrary<Step>[] = [pauseStep, resumeStep, foreignStep]
