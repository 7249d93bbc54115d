import { afterEach, describe, expect, it } from 'vitest'
import { useRedis } from '../support/hub-fixture.ts'
import { loadWithSetClock } from './keys-actors.ts'
import { runKeys } from './keys-run.ts'
import { anyKeySteps, anyLossyKeySteps } from './keys-steps.ts'
import { eachBug, firstFailing } from './planted.ts'
import { bugsOfKeys } from './planted-bugs.ts'

const it_ = useRedis()
let namespaces = 0

describe('the model of keys finds', () => {
  afterEach(() => it_.redis.flushall())

  const perform = (steps: Parameters<typeof runKeys>[2], isFenced = true) =>
    runKeys(it_.redis, `keys${++namespaces}`, steps, isFenced)

  it('connections that do not fence their predecessors', { timeout: 120_000 }, async () => {
    await loadWithSetClock(it_.redis)
    const found = await firstFailing(anyLossyKeySteps(), 600, steps => perform(steps, false))
    expect(found).toBeDefined()
    await perform(found!)
  })

  it.each(eachBug(bugsOfKeys))('$operation: $bug', { timeout: 120_000 }, async ({ library }) => {
    await loadWithSetClock(it_.redis, library())
    const found = await firstFailing(anyKeySteps(), 400, steps => perform(steps))
    expect(found).toBeDefined()
    await loadWithSetClock(it_.redis)
    await perform(found!)
  })
})
