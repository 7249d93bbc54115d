import fc from 'fast-check'
import { install } from '../../src/redis/library.ts'
import { delay } from '../support/delay.ts'
import { readTime, type Step, step } from './step.ts'

/** The shortest deadlines of the list pass. */
const waitStep = step('wait', fc.constant({}), async (model, { redis }) => {
  const until = model.nowUs + 3000
  while ((await readTime(redis)) < until) await delay(1, 'the clock of Redis goes on')
})

/** Redis forgets its functions, as somebody may tell it to. A full one could not learn them again. */
const functionFlushStep = step('functionFlush', fc.constant({}), async (model, { redis, library }) => {
  if (!model.isFull && library === undefined) await redis.function('FLUSH')
})

/** No memory is left, or there is some again. */
const memoryStep = step(
  'memory',
  fc.record({ isFull: fc.constantFrom(true, false, false) }),
  async (model, { redis }, { isFull }) => {
    if (isFull) await install(redis)
    await redis.config('SET', 'maxmemory', isFull ? 1 : 0)
    model.isFull = isFull
  },
)

export const serverSteps: fc.Arbitrary<Step>[] = [waitStep, functionFlushStep, memoryStep]
