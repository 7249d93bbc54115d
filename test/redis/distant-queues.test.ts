import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { eventually, useRedis } from '../support/hub-fixture.ts'

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
})
