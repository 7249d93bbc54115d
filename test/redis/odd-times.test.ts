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

it('a schedule whose time was spoilt is told of, and goes', async () => {
  const { redis } = it_
  const { ticks } = queueKeys(it_)
  await redis.zadd(ticks, '-inf', 'spoilt')
  const worker = await it_.worker([defineTask('a:1.0', {}, () => 1)])
  const problems: string[] = []
  worker.events.on('problem', ({ reason }) => problems.push(reason))
  await eventually(async () => (await redis.zcard(ticks)) === 0)
  await eventually(() => problems.some(reason => reason.includes('The schedule spoilt cannot be used')))
})

it('a job whose time is before all times is due', async () => {
  const { redis } = it_
  const { scheduled } = queueKeys(it_)
  await redis.zadd(scheduled, '-inf', `{"at":1,"ttl":0,"id":"early","task":"seen:1.0","args":"early"}`)
  const seen: unknown[] = []
  await it_.worker([defineTask('seen:1.0', {}, args => void seen.push(args))])
  await eventually(() => seen.length === 1)
  expect(await redis.exists(scheduled)).toBe(0)
})
