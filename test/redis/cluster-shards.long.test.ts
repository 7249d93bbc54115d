import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { connectionsTo, eventually, useCluster } from '../support/cluster-fixture.ts'
import { noted } from '../support/noting-tasks.ts'

const it_ = useCluster({ masters: 3 })

it('a shard that is none any more is left, and so is the connection that waited there', async () => {
  it_.allowLeftovers()
  const [queue] = it_.queues() as [string]
  const shards = [2, 3].map(n => `shard.${n}.${queue}`)
  const { task, seen } = noted()
  const write = async (record: object) => {
    const [key, ...others] = [queue, ...shards].map(place => `${it_.namespace}:{${place}}:shards`)
    for (const each of [...others, key!])
      for (const { client } of it_.cluster.masters)
        await client.set(each, JSON.stringify(record)).catch(() => undefined)
  }
  const waiting = async () => {
    const counts = await Promise.all(it_.cluster.masters.map(master => connectionsTo(master, 'pshub-worker-blocking')))
    return counts.reduce((sum, count) => sum + count, 0)
  }
  await write({ epoch: 1, names: [queue, ...shards] })
  const worker = await it_.worker(queue, [task])
  await eventually(async () => worker.look().length === 3 && (await waiting()) === 3)
  await write({ epoch: 2, names: [queue] })
  await eventually(() => worker.look().length === 1)
  await eventually(async () => (await waiting()) === 1)
  await it_.hub().call('note:1.0', 'here')
  expect(seen).toEqual(['here'])
  await write({ epoch: 3, names: [queue, shards[0]] })
  await eventually(async () => worker.look().length === 2 && (await waiting()) === 2)
  await it_.hub().call('note:1.0', 'there', { queue: shards[0] })
  expect(seen).toEqual(['here', 'there'])
})

it('a Cluster gets two connections for each node that is used, and no more', async () => {
  const [queue] = it_.queues() as [string]
  await it_.worker(queue, [defineTask('echo:1.0', {}, args => args)])
  const hub = it_.hub()
  await hub.call('echo:1.0', 1)
  const counts = await Promise.all(
    it_.cluster.masters.map(async node => [
      await connectionsTo(node, 'pshub-hub'),
      await connectionsTo(node, 'pshub-worker'),
    ]),
  )
  for (const [ofHub, ofWorker] of counts) {
    expect(ofHub).toBeLessThanOrEqual(2)
    expect(ofWorker).toBeLessThanOrEqual(2)
  }
})
