import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Script, scripts } from '../../src/queue/scripts.ts'
import { useRedis } from '../support/hub-fixture.ts'
import { plantedBugs } from './planted-bugs.ts'
import { anySteps, run } from './run.ts'

const it_ = useRedis()

/** What the first failing run says; the runs are the same each time. */
const firstFailure = async (options: Parameters<typeof run>[2] = {}): Promise<string | undefined> => {
  const property = fc.asyncProperty(anySteps(), async steps => {
    await run(it_.redis, steps, options)
  })
  const details = await fc.check(property, { seed: 20, numRuns: 300, endOnFailure: true })
  return details.failed ? (details.errorInstance as Error).message : undefined
}

describe('the model finds', () => {
  afterEach(async () => {
    vi.restoreAllMocks()
    await it_.redis.config('SET', 'maxmemory', 0)
    await it_.redis.flushall()
  })

  it.each(plantedBugs)('$script: $bug', { timeout: 120_000 }, async ({ script, from, to }) => {
    const { text } = scripts[script]
    const wrong = text.replace(from, to)
    expect(wrong).not.toBe(text)
    vi.spyOn(Script.prototype, 'run').mockImplementation(function (this: Script, client, keys, args) {
      const sent = this === scripts[script] ? wrong : this.text
      return client.eval(sent, keys.length, ...keys, ...args)
    })
    const failure = await firstFailure()
    expect(failure).toBeDefined()
    // Not because the changed text is no script.
    expect(failure).not.toMatch(/^ERR Error compiling/)
  })

  it('a worker that settles under a lost identity', async () => {
    expect(await firstFailure({ unfenced: true })).toBeDefined()
  })
})
