import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { beatAll } from '../../src/queue/beats.ts'
import { Queue } from '../../src/queue/queue.ts'
import { functionOf } from '../../src/redis/library.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

const it_ = useRedis()
const names = Array.from({ length: 12 }, (_, at) => `q${at}`)

describe('a worker of twelve queues, 2 ms from its Redis', () => {
  it('serves calls and jobs of each of them', async () => {
    const proxy = await ChaosProxy.start(it_.server.port)
    it_.onEnd(() => proxy.stop())
    proxy.delayMs = () => 1
    let ran = 0
    const task = defineTask('t:1.0', {}, () => ++ran)
    await it_.worker([task], { redis: proxy.url, queue: names, slots: 4 })
    const hub = it_.hub()
    const round = () => Promise.all(names.map(queue => hub.call('t:1.0', {}, { queue, timeoutMs: 60_000 })))
    await round()
    await round()
    for (const queue of names) await hub.enqueue('t:1.0', {}, { queue })
    await eventually(() => ran === 36)
  })

  it('leaves no bell with a token behind whose list is empty', async () => {
    const task = defineTask('t:1.0', {}, () => 1)
    await it_.worker([task], { queue: names, slots: 4 })
    const hub = it_.hub()
    await Promise.all(names.map(queue => hub.call('t:1.0', {}, { queue, timeoutMs: 60_000 })))
    expect((await it_.keys()).filter(key => /:(bell|jobbell)$/.test(key))).toEqual([])
  })

  it('costs Redis as many commands when it is idle as one queue does', async () => {
    const sent: string[] = []
    const monitor = await it_.redis.monitor()
    monitor.on('monitor', (_: string, [name, first]: string[], source: string) => {
      if (source !== 'lua') sent.push(name === 'fcall' ? first! : name!)
    })
    await it_.worker([defineTask('t:1.0', {}, () => 1)], { queue: names, slots: 4 })
    // It begins with a claim of each queue, and waits then.
    const idle = () => sent.slice(sent.indexOf('blpop') + 1 || sent.length)
    const rounds = () => idle().filter(name => name === functionOf('beats')).length
    await eventually(() => rounds() >= 4)
    monitor.disconnect()
    expect(idle().length).toBeLessThan(5 * rounds())
  })

  it('finds with its beats what waits where no bell tells', async () => {
    const task = defineTask('t:1.0', {}, () => 1)
    const worker = await it_.worker([task], { queue: names, slots: 1 })
    let beats = 0
    worker.events.on('worker:beat', () => beats++)
    // Its first claims are over.
    await eventually(() => beats >= 2 * names.length)
    const { calls } = queueKeys(it_, 'q7')
    const message = { id: 'lost', task: 't:1.0', args: {} }
    await it_.redis.rpush(calls, JSON.stringify(message))
    await eventually(async () => (await it_.redis.llen(calls)) === 0)
  })

  it('keeps the leases of its other queues where the keys of one are of somebody else', async () => {
    const queues = ['mine', 'foreign', 'locked'].map(name => new Queue(name, makeKeys(it_.namespace)))
    const [, foreign, locked] = queues
    it_.allowLeftovers()
    await it_.redis.set(foreign!.keys.leases, 'x')
    await it_.redis.set(locked!.keys.held('w'), 'x')
    const beats = queues.map(queue => queue.beatOf('w', 4000, true))
    expect(await beatAll(it_.redis, beats)).toMatchObject([
      { beat: { held: true }, held: [], hasWork: false },
      { message: expect.stringMatching(/^WRONGTYPE/) },
      { beat: { held: true }, held: undefined },
    ])
  })
})
