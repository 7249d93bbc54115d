import { expect, it } from 'vitest'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

const it_ = useRedis()
const keys = () => queueKeys(it_)

it('who waits for a job finds its end by looking again where its worker died before it told', async () => {
  const hub = it_.hub()
  const job = await hub.enqueue('never:1.0', {}, { queue: 'q', keepResultMs: 60_000 })
  const waiting = job.result()
  const record = keys().job(job.id)
  await eventually(async () => (await it_.redis.hkeys(record)).some(field => field.startsWith('wait:')))
  await it_.redis.hset(record, { state: 'done', ended: '1', result: '"late"' })
  expect(await waiting).toBe('late')
  await it_.redis.del(keys().jobs, keys().jobBell, record)
}, 60_000)
