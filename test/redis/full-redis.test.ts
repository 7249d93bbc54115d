import { describe, expect, it } from 'vitest'
import { Queue } from '../../src/queue/queue.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

describe('a full Redis', () => {
  it('takes the word of a caller that gives up, whether it knows the text of its request or not', async () => {
    const { redis, namespace } = it_
    const queue = new Queue('q', makeKeys(namespace))
    it_.onEnd(() => redis.config('SET', 'maxmemory', '0'))
    await redis.config('SET', 'maxmemory', '1')
    expect(await queue.cancel(redis, 'unknown', '')).toBe(false)
    expect(await redis.pttl(queue.keys.cancelled)).toBeGreaterThan(4000)
    expect(await queue.cancel(redis, 'running', 'no longer in the list')).toBe(false)
    const beat = await queue.beat(redis, 'w', 4000, true)
    expect(beat.cancelled.sort()).toEqual(['running', 'unknown'])
    expect(await queue.leave(redis, 'w', [])).toBe(0)
  })
})
