import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { slotOf } from '../../src/redis/slots.ts'
import { eventually, useCluster } from '../support/cluster-fixture.ts'
import { counting, readAll, upTo } from '../support/counted-streams.ts'
import { delay } from '../support/delay.ts'

const it_ = useCluster({ masters: 3 })
const echo = (name = 'echo:1.0') => defineTask(name, {}, args => args)

describe('a Cluster', () => {
  it('that is named by one of its nodes is found out, and calls go to whichever node has the queue', async () => {
    const hub = it_.hub()
    for (const [at, queue] of it_.queues().entries()) {
      await it_.worker(queue, [echo(`echo${at}:1.0`)])
      // Its first connection to a node may take longer than a call waits for Redis.
      expect(await eventually(() => hub.call(`echo${at}:1.0`, { at }))).toEqual({ at })
    }
    const many = await Promise.all(Array.from({ length: 300 }, (_, n) => hub.call(`echo${n % 3}:1.0`, n)))
    expect(many).toEqual(Array.from({ length: 300 }, (_, n) => n))
  })

  it('may be given as several nodes, of which one is not there', async () => {
    const { port } = it_.cluster.masters[0]!
    const redis = `redis+cluster://127.0.0.1:1,127.0.0.1:${port}`
    const [queue] = it_.queues() as [string]
    await it_.worker(queue, [echo()], { redis })
    expect(await eventually(() => it_.hub({ redis }).call('echo:1.0', 1))).toBe(1)
    const asObject = { cluster: [{ host: '127.0.0.1', port }] }
    expect(await it_.hub({ redis: asObject }).call('echo:1.0', 2)).toBe(2)
  })

  it('has workers of several queues on different nodes, with one pool of slots', async () => {
    const queues = it_.queues()
    let most = 0
    let running = 0
    const slow = defineTask('slow:1.0', {}, async args => {
      most = Math.max(most, ++running)
      await delay(20, 'so that calls run beside each other')
      running--
      return args
    })
    await it_.worker(queues, [slow], { slots: 4 })
    const hub = it_.hub()
    const calls = Array.from({ length: 60 }, (_, n) => hub.call('slow:1.0', n, { queue: queues[n % 3]! }))
    expect(await Promise.all(calls)).toEqual(Array.from({ length: 60 }, (_, n) => n))
    expect(most).toBe(4)
    for (const queue of queues) expect(await hub.call('slow:1.0', 1, { queue })).toBe(1)
  })

  it('has workers of several queues on one node, whose connections leave each other alone', async () => {
    const names = Array.from({ length: 40 }, (_, n) => `q${n}`)
    const queues = names.filter(name => slotOf(name) < 5000).slice(0, 3)
    const worker = await it_.worker(queues, [echo()])
    const hub = it_.hub()
    const all = async () => {
      for (const queue of queues) expect(await hub.call('echo:1.0', 1, { queue })).toBe(1)
    }
    await all()
    const downs: (string | undefined)[] = []
    worker.events.on('redis:down', ({ role }) => downs.push(role))
    const { client } = it_.cluster.masters[0]!
    const blocking = async () =>
      String(await client.call('CLIENT', 'LIST'))
        .split('\n')
        .flatMap(line => (line.includes('name=pshub-worker-blocking') ? [/id=(\d+)/.exec(line)![1]!] : []))
    const before = await blocking()
    await client.call('CLIENT', 'KILL', 'ID', before[0]!)
    await eventually(async () => (await blocking()).filter(id => !before.includes(id)).length > 0)
    for (let round = 0; round < 3; round++) await all()
    expect(downs).toHaveLength(1)
  })

  it('has streams from queues on any node to hubs whose replies are on any node, beyond a window', async () => {
    const queues = it_.queues()
    await it_.worker(queues, [counting], { slots: 9 })
    const hubs = queues.map(() => it_.hub())
    const given = { count: 700 }
    const streams = hubs.flatMap(hub => queues.map(queue => hub.stream(counting, given, { queue })))
    for (const read of await Promise.all(streams.map(stream => readAll(stream))))
      expect(read).toEqual({ chunks: upTo(700), error: undefined })
    await eventually(async () => !(await it_.keys()).some(key => key.includes(':taken:')))
  })

  it('has jobs that follow each other from node to node', async () => {
    it_.allowLeftovers()
    const queues = it_.queues()
    const add = queues.map((_, at) => defineTask(`add${at}:1.0`, {}, args => (args as { n: number }).n + 1))
    for (const [at, queue] of queues.entries()) await it_.worker(queue, [add[at]!])
    const chain = await it_.hub().chain([
      ['add0:1.0', { n: 1 }],
      ['add1:1.0', {}, { pass: 'n' }],
      ['add2:1.0', {}, { pass: 'n' }],
    ])
    expect(await chain.result()).toBe(4)
  })
})
