import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

describe('a job whose task no live worker of its queue has', () => {
  it('waits for its worker, also without retries, while another worker serves the queue', async () => {
    let ran = 0
    const away = defineTask('away:1.0', { retries: 0 }, () => ++ran)
    const other = defineTask('other:1.0', {}, () => 1)
    const first = await it_.worker([away])
    await first.stop()
    const hub = it_.hub()
    const retried: string[] = []
    const server = await it_.worker([other])
    server.events.on('job:retried', ({ code }) => retried.push(code))
    await hub.enqueue('away:1.0', {})
    await eventually(() => retried.length > 0)
    expect(retried[0]).toBe('NoWorkers')
    expect(await it_.redis.zcard(`${it_.namespace}:{q}:dead`)).toBe(0)
    await it_.worker([away])
    await eventually(() => ran === 1)
  })
})
