import { describe, expect, it } from 'vitest'
import { defineTask, Worker } from '../../src/index.ts'
import { delay } from '../support/delay.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

// A server of its own: its commands are counted.
const it_ = useRedis(['--save', ''])

const echo = defineTask('echo:1.0', {}, args => args)

describe('a Redis that refuses every write', () => {
  it('does not make the worker a busy loop', async () => {
    it_.onEnd(() => it_.redis.config('SET', 'min-replicas-to-write', '0'))
    await it_.redis.config('SET', 'min-replicas-to-write', '1')
    const worker = new Worker({
      redis: it_.url,
      namespace: it_.namespace,
      queue: 'q',
      logLevel: 'silent',
      tasks: [echo],
    })
    it_.onEnd(async () => {
      await it_.redis.config('SET', 'min-replicas-to-write', '0')
      await worker.stop()
    })
    await worker.start()
    const count = async () => Number(/total_commands_processed:(\d+)/.exec(await it_.redis.info('stats'))?.[1])
    const before = await count()
    await delay(2000, 'a busy loop would send thousands of commands meanwhile')
    expect((await count()) - before).toBeLessThan(100)
    await it_.redis.config('SET', 'min-replicas-to-write', '0')
    // Until its next beat nobody knows of it.
    const hub = it_.hub()
    await eventually(async () => (await hub.call('echo:1.0', 'recovered').catch(() => '')) === 'recovered')
  })
})
