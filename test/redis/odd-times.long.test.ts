import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

const it_ = useRedis()

/** How many functions Redis has run. */
const functionsRun = async (): Promise<number> => {
  const stats = String(await it_.redis.info('commandstats'))
  return Number(/cmdstat_fcall:calls=(\d+)/.exec(stats)?.[1] ?? 0)
}

it.each(['+inf', '1e300'])(
  'a job and a schedule that are due at %s keep no worker busy',
  async time => {
    const { redis } = it_
    const { scheduled, retries, ticks, cron } = queueKeys(it_)
    await redis.zadd(scheduled, time, '{"at":1,"ttl":0,"id":"never","task":"seen:1.0"}')
    await redis.zadd(retries, time, 'garbage')
    await redis.zadd(ticks, time, 'never')
    const seen: unknown[] = []
    await it_.worker([defineTask('seen:1.0', {}, args => void seen.push(args))])
    const before = await functionsRun()
    // Behind four beats.
    await new Promise(resolve => setTimeout(resolve, 4000))
    expect((await functionsRun()) - before).toBeLessThan(30)
    const hub = it_.hub()
    await hub.enqueue('seen:1.0', 'in time', { delayMs: 50 })
    await eventually(() => seen.length === 1)
    expect(seen).toEqual(['in time'])
    await redis.del(scheduled, retries, ticks, cron)
  },
  15_000,
)
