import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

const it_ = useRedis()

it('a schedule whose time was spoilt is told of, and goes', async () => {
  const { redis } = it_
  const { ticks } = queueKeys(it_)
  await redis.zadd(ticks, '-inf', 'spoilt')
  const worker = await it_.worker([defineTask('a:1.0', {}, () => 1)])
  const problems: string[] = []
  worker.events.on('problem', ({ reason }) => problems.push(reason))
  await eventually(async () => (await redis.zcard(ticks)) === 0)
  await eventually(() => problems.some(reason => reason.includes('The schedule spoilt is invalid')))
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
