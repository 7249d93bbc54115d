import { describe, expect, it } from 'vitest'
import { defineTask, type Hub } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { type ClusterNode, eventually, failure, useCluster } from '../support/cluster-fixture.ts'

/** Nodes that are away: what lives on the others goes on. */
const it_ = useCluster({ masters: 3, spares: 1 })

const counting = (name: string) => {
  const starts: unknown[] = []
  const task = defineTask(name, { timeoutMs: 4000 }, args => {
    starts.push(args)
    return args
  })
  return { task, starts }
}

const ofNode = async (name: string, node: ClusterNode): Promise<string> => {
  for (let n = 0; ; n++) if ((await it_.cluster.ownerOf(`{${name}${n}}`)) === node) return `${name}${n}`
}

const hubAt = async (node: ClusterNode): Promise<Hub> => {
  const keys = makeKeys(it_.namespace)
  for (;;) {
    const hub = it_.hub()
    if ((await it_.cluster.ownerOf(keys.reply(hub.id))) === node) return hub
  }
}

const kill = async (node: ClusterNode): Promise<void> => {
  await node.server.stop({ keepDir: true, signal: 'SIGKILL' })
  it_.onEnd(async () => {
    if (node.client.status !== 'ready') await it_.cluster.restart(node)
    await it_.cluster.untilOk()
  })
}

describe('a node that is away', () => {
  it('has the calls refused whose replies would come there, and none of them runs', async () => {
    const [other, victim] = it_.cluster.masters as [ClusterNode, ClusterNode]
    const { task, starts } = counting('kept:1.0')
    await it_.worker(await ofNode('kept', other), [task])
    const [lost, kept] = [await hubAt(victim), await hubAt(other)]
    expect(await lost.call('kept:1.0', 1)).toBe(1)
    expect(await kept.call('kept:1.0', 2)).toBe(2)
    const noticed = new Promise(resolve => lost.events.on('redis:down', resolve))
    await kill(victim)
    await noticed
    const before = starts.length
    const refused = await Promise.all(
      Array.from({ length: 5 }, (_, n) => failure(lost.call('kept:1.0', `lost${n}`, { timeoutMs: 1500 }))),
    )
    expect(refused.map(({ code, ran }) => [code, ran])).toEqual(Array(5).fill(['NotEnqueued', 'no']))
    expect(starts.length).toBe(before)
    expect(await kept.call('kept:1.0', 3)).toBe(3)
    await it_.cluster.restart(victim)
    expect(await eventually(() => lost.call('kept:1.0', 4).catch(() => undefined))).toBe(4)
    expect(starts.filter(args => String(args).startsWith('lost'))).toEqual([])
  })

  it('keeps replies that nobody can be given, and no other call waiting', async () => {
    // The reply list of a hub that did not ask for what is in it.
    it_.allowLeftovers()
    const [other, victim] = it_.cluster.masters as [ClusterNode, ClusterNode]
    const { task, starts } = counting('kept:1.0')
    const queue = await ofNode('kept', other)
    await it_.worker(queue, [task], { slots: 2 })
    const [deaf, kept] = [await hubAt(victim), await hubAt(other)]
    expect(await kept.call('kept:1.0', 0)).toBe(0)
    await kill(victim)
    const keys = makeKeys(it_.namespace)
    const calls = Array.from({ length: 20 }, (_, n) => {
      const head = `{"at":${Date.now() * 1000},"ttl":60000,"id":"deaf${n}","task":"kept:1.0"`
      return `${head},"result_queue":"${keys.reply(deaf.id)}","args":${n + 1}}`
    })
    // More than a worker of two slots may hold.
    await other.client.rpush(keys.queue(queue).calls, ...calls)
    await other.client.rpush(keys.queue(queue).bell, '1')
    await eventually(() => starts.length === 21)
    expect(await kept.call('kept:1.0', 'still served')).toBe('still served')
    await it_.cluster.restart(victim)
    const held = async () => (await other.client.keys(`${it_.namespace}:{${queue}}:held:*`)).length
    await eventually(async () => (await held()) === 0)
  })

  it('does not keep a worker from starting whose queue is on another one', async () => {
    const [other, victim] = it_.cluster.masters as [ClusterNode, ClusterNode]
    await kill(victim)
    const { task } = counting('kept:1.0')
    await it_.worker(await ofNode('kept', other), [task])
    const hub = await hubAt(other)
    expect(await eventually(() => hub.call('kept:1.0', 1).catch(() => undefined), 30_000)).toBe(1)
  })
})
