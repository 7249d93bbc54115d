import fc from 'fast-check'
import { readTime, type Step, step } from './step.ts'

/** The shortest deadlines of the list pass. */
const waitStep = step('wait', fc.constant({}), async (model, { redis }) => {
  const until = model.nowUs + 3000
  while ((await readTime(redis)) < until) await new Promise(resolve => setTimeout(resolve, 1))
})

/** Redis forgets its scripts, as at a restart. */
const scriptFlushStep = step('scriptFlush', fc.constant({}), async (_, { redis }) => {
  await redis.script('FLUSH')
})

/** No memory is left, or there is some again. */
const memoryStep = step(
  'memory',
  fc.record({ isFull: fc.constantFrom(true, false, false) }),
  async (model, { redis }, { isFull }) => {
    await redis.config('SET', 'maxmemory', isFull ? 1 : 0)
    model.isFull = isFull
  },
)

export const serverSteps: fc.Arbitrary<Step>[] = [waitStep, scriptFlushStep, memoryStep]
