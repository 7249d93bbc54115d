import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { Queue } from '../../src/queue/queue.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

it('jobs with a key whose worker forgot them without a word do not keep their key for ever', async () => {
  const runs: { n: number }[] = []
  const task = defineTask('sync:1.0', { keyed: 'ordered' }, args => void runs.push(args as { n: number }))
  const first = await it_.worker([task])
  await first.stop()
  const hub = it_.hub()
  for (const n of [1, 2]) await hub.enqueue('sync:1.0', { key: 'a', n }, { key: 'a' })
  const keys = makeKeys(it_.namespace)
  await new Queue('q', keys).beat(it_.redis, 'ghost', 60_000, true)
  await new Queue('q', keys).claim(it_.redis, 'ghost', { slots: 2, jobs: 2 })
  await it_.redis.del(keys.queue('q').held('ghost'))
  await it_.worker([task])
  await eventually(() => runs.length === 1, 60_000)
  expect(runs[0]!.n).toBe(2)
  await it_.redis.zrem(keys.queue('q').leases, 'ghost')
}, 90_000)
