import assert from 'node:assert/strict'
import fc from 'fast-check'
import type { Redis } from 'ioredis'
import type { Actors, WorkerActor } from './actors.ts'
import type { Model } from './model.ts'
import type { WorkerModel } from './processes.ts'
import { compare } from './redis-state.ts'

export type Step = fc.AsyncCommand<Model, Actors>

/**
 * One kind of step with parameters of its own. It does the real thing, tells the model, and compares the answers; all
 * keys are compared behind it. A step that has nothing to act on does nothing, so that any sequence of steps can run and
 * be shortened.
 */
export const step = <P>(
  name: string,
  parameters: fc.Arbitrary<P>,
  run: (model: Model, actors: Actors, parameters: P) => Promise<void>,
): fc.Arbitrary<Step> =>
  parameters.map(given => ({
    check: () => true,
    run: async (model: Model, actors: Actors) => {
      await run(model, actors, given)
      await compare(actors.redis, model)
    },
    toString: () => `${name}(${fc.stringify(given)})`,
  }))

/** Which of a list's entries a step acts on: bit n of the mask stands for each eighth entry, beginning with the nth. */
export const anyMask = fc.integer({ min: 1, max: 255 })
export const chosen = <T>(all: Iterable<T>, mask: number): T[] =>
  [...all].filter((_, index) => mask & (1 << (index % 8)))

/** One of a list, or undefined when there is none. */
export const oneOf = <T>(all: Iterable<T>, index: number): T | undefined => {
  const list = [...all]
  return list[index % list.length]
}

/** A worker's two sides: what the model knows of it, and its real parts. */
export type WorkerPair = [WorkerModel, WorkerActor]

/** Eight times of nine it is one for which the step makes sense, when there is one. */
export const anyWorker = fc.nat(26)
export const workerOf = (
  model: Model,
  actors: Actors,
  number: number,
  suits: (worker: WorkerModel) => boolean = () => true,
): WorkerPair => {
  const order = [0, 1, 2].map(n => (number + n) % 3)
  const index = (number > 2 ? order.find(n => suits(model.workers[n]!)) : undefined) ?? order[0]!
  return [model.workers[index]!, actors.workers[index]!]
}

/** The same, for what goes over the connection for commands. */
export const connected = async (...wanted: Parameters<typeof workerOf>): Promise<WorkerPair> => {
  const pair = workerOf(...wanted)
  await wanted[1].wire.reconnect(pair[0].name)
  return pair
}

/** Redis' clock, now. */
export const readTime = async (redis: Redis): Promise<number> => {
  const [seconds, us] = await redis.time()
  return Number(seconds) * 1_000_000 + Number(us)
}

/** The time an answer bears. Time never runs back. */
export const sawTime = (model: Model, nowUs: number): void => {
  assert(nowUs >= model.nowUs, `Redis answered with ${nowUs}, which is before ${model.nowUs}`)
  model.nowUs = nowUs
}

/** Runs what the test itself changes in Redis, also while Redis is full. */
export const aside = async (model: Model, redis: Redis, change: () => Promise<unknown>): Promise<void> => {
  if (model.isFull) await redis.config('SET', 'maxmemory', 0)
  await change()
  if (model.isFull) await redis.config('SET', 'maxmemory', 1)
}

export const isOutOfMemory = (error: Error): boolean => error.message.startsWith('OOM')
