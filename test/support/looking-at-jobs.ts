import { expect } from 'vitest'
import type { Hub } from '../../src/index.ts'
import { type ListedState, listedStates } from '../../src/jobs/lists/listing.ts'
import type { Fixture } from './hub-fixture.ts'
import { queueKeys } from './queue-keys.ts'

/** Cancels jobs that nobody tracks, wherever they wait. */
export const cancelInBulk = async (server: Fixture, hub: Hub): Promise<void> => {
  const { jobsHigh, jobs, jobsLow, scheduled, retries, keyed, running, line, lined } = queueKeys(server)
  const far = 4e12
  const ranked = ['"job":{"priority":"high"},', '', '"job":{"priority":"low"},', '', '']
  const texts = ranked.map((part, n) => `{"at":1,"ttl":0,"id":"bulk${n + 1}",${part}"task":"never:1.0"}`)
  await server.redis.set(queueKeys(server).paused, '1')
  for (const [n, list] of [jobsHigh, jobs, jobsLow].entries()) await server.redis.rpush(list, texts[n]!)
  await server.redis.zadd(scheduled, far, texts[3]!)
  await server.redis.zadd(retries, far, texts[4]!)
  const key = '"job":{"key":"a"},"task":"never:1.0"'
  await server.redis.zadd(keyed, '+inf', 'never:1.0')
  await server.redis.hset(running('never:1.0'), 'a', `${Date.now()}000 ghost seen`)
  await server.redis.rpush(line('never:1.0', 'a'), `{"at":1,"ttl":0,"id":"bulk6",${key}}`)
  for (const state of ['waiting', 'scheduled', 'retrying'] as const)
    expect((await hub.bulkStep('cancel', { state, queue: 'q' })).changed).toBeGreaterThan(0)
  expect(await server.redis.exists(line('never:1.0', 'a'))).toBe(0)
  expect(await server.redis.hget(lined, 'never:1.0')).toBe('-1')
  await server.redis.del(queueKeys(server).paused, keyed, running('never:1.0'), lined)
}

/** Looks at what lies in queues and runs, at a batch and at schedules. */
export const lookAtJobs = async (
  server: Fixture,
  hub: Hub,
  states: readonly ListedState[] = listedStates,
): Promise<void> => {
  const { held, leases, batch, dead, keyed, running, line, lined } = queueKeys(server)
  await server.redis.zadd(leases, 4e12, 'ghost')
  await server.redis.zadd(dead, Date.now(), '{"id":"given-up","task":"own:1.0"}')
  const part = '{"tries":0,"batch":"q/seen"}'
  await server.redis.hset(held('ghost'), 'job:seen', `{"at":1,"ttl":0,"id":"seen","job":${part},"task":"own:1.0"}`)
  await server.redis.hset(batch('seen'), 'opened', 1)
  // A key that runs, and one that waits.
  await server.redis.zadd(keyed, '+inf', 'kept:1.0')
  await server.redis.hset(running('kept:1.0'), 'a', `${Date.now()}000 ghost seen`)
  await server.redis.rpush(line('kept:1.0', 'a'), '{"at":1,"ttl":0,"id":"next","job":{"key":"a"},"task":"kept:1.0"}')
  await server.redis.hset(lined, 'kept:1.0', 1)
  if (states.includes('waiting')) {
    await hub.jobs({ state: 'waiting', from: 'q:1' })
    expect((await hub.jobs({ state: 'waiting' })).jobs).toContainEqual(expect.objectContaining({ id: 'next' }))
  }
  for (const state of states) await hub.jobs({ state })
  expect(await hub.jobDetails('seen', { queue: 'q' })).toMatchObject({ worker: 'ghost', batch: { id: 'seen' } })
  await server.redis.del(held('ghost'), batch('seen'), dead, keyed, running('kept:1.0'), line('kept:1.0', 'a'), lined)
  await server.redis.zrem(leases, 'ghost')
  await hub.schedules('q').list()
  const { counts } = await hub.jobs()
  const count = expect.any(Number)
  expect(counts).toEqual([{ queue: 'q', waiting: count, scheduled: count, retrying: count, dead: count }])
}
