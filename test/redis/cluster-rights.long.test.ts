import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { type Role, rulesOf } from '../../src/redis/rights.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useCluster } from '../support/cluster-fixture.ts'

const it_ = useCluster({ masters: 2 })

/** The address for a user with the rules of a role, on each node. */
const userOf = async (role: Role, ...less: string[]) => {
  const rules = rulesOf(role, makeKeys(it_.namespace)).split(' ')
  for (const { client } of it_.cluster.nodes)
    await client.call(
      'acl',
      'setuser',
      `${role}`,
      'reset',
      'on',
      '>secret',
      'resetchannels',
      '-@all',
      ...rules,
      ...less,
    )
  return it_.url.replace('//', `//${role}:secret@`)
}
const echo = defineTask('echo:1.0', {}, args => args)

it('users with exactly the listed rights do their work on a Cluster', async () => {
  for (const { client } of it_.cluster.nodes) await client.call('acl', 'log', 'reset')
  const queues = it_.queues()
  const worker = await it_.worker(queues, [echo], { redis: await userOf('worker', '+function|load') })
  const hub = it_.hub({ redis: await userOf('jobs') })
  for (const queue of queues) {
    expect(await hub.call('echo:1.0', 1, { queue })).toBe(1)
    const job = await hub.enqueue('echo:1.0', 2, { queue, tracked: true })
    expect(await job.result()).toBe(2)
  }
  expect(await it_.hub({ redis: await userOf('hub') }).call('echo:1.0', 3)).toBe(3)
  await worker.stop()
  for (const { client } of it_.cluster.nodes) {
    const log = (await client.call('acl', 'log')) as string[][]
    expect(log.map(entry => [entry[entry.indexOf('object') + 1], entry[entry.indexOf('username') + 1]])).toEqual([])
  }
  for (const { client } of it_.cluster.nodes) for (const key of await client.keys('*:job:*')) await client.del(key)
})

it('who may not read its slots is told so', async () => {
  const redis = await userOf('hub', '-cluster|slots')
  const hub = it_.hub({ redis })
  const refused = await hub.call('echo:1.0', 1, { timeoutMs: 2000 }).catch(error => `${error.code}: ${error.message}`)
  expect(refused).toMatch(/^NotEnqueued: .*pshub check.*cluster/)
})

it('a worker that lacks the key that keeps functions from slots on their way does not start', async () => {
  const narrow = rulesOf('worker', makeKeys(it_.namespace))
    .split(' ')
    .filter(rule => rule.startsWith('~') && !rule.endsWith(':moving'))
  const redis = await userOf('worker', '+function|load', 'resetkeys', ...narrow)
  await expect(it_.worker(it_.queues(), [echo], { redis })).rejects.toThrow(/lacks FCALL on .*:moving/)
})
