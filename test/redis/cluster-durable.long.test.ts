import { expect, it } from 'vitest'
import { slotOf } from '../../src/redis/slots.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { failure, useCluster } from '../support/cluster-fixture.ts'

/** Of the masters only the first one has a replica. */
const it_ = useCluster({ masters: 3, replicas: 1 })

it('a durable job is confirmed by a replica of the node that has it, and not by one of the node that had its queue before', async () => {
  it_.allowLeftovers()
  const [queue] = it_.queues()
  const hub = it_.hub()
  const options = { queue: queue!, durable: 'replica' } as const
  await hub.enqueue('job:1.0', 1, options)
  await hub.enqueue('job:1.0', 2, options)
  await it_.cluster.moveSlot(slotOf(makeKeys(it_.namespace).queue(queue!).jobs), it_.cluster.masters[1])
  const { code, message } = await failure(hub.enqueue('job:1.0', 3, options))
  expect([code, message]).toEqual(['OutcomeUnknown', expect.stringMatching(/^The job is in Redis, but no replica/)])
})
