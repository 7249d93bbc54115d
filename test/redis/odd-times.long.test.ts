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
    const worker = await it_.worker([defineTask('seen:1.0', {}, args => void seen.push(args))])
    const before = await functionsRun()
    let beats = 0
    worker.events.on('worker:beat', () => beats++)
    await eventually(() => beats === 4, 30_000)
    // Some for each beat and what is looked for with it, however long they take.
    expect((await functionsRun()) - before).toBeLessThan(30)
    const hub = it_.hub()
    await hub.enqueue('seen:1.0', 'in time', { delayMs: 50 })
    await eventually(() => seen.length === 1)
    expect(seen).toEqual(['in time'])
    await redis.del(scheduled, retries, ticks, cron)
  },
  60_000,
)
