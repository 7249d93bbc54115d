import { describe, expect, it } from 'vitest'
import { RedisGuards } from '../../src/queue/guards.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useGuarded } from '../support/guarded-worker.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()
const { forget } = useGuarded(it_)
const guards = () =>
  new RedisGuards(
    { send: (work: (client: typeof it_.redis) => unknown) => work(it_.redis) } as never,
    makeKeys(it_.namespace),
  )

describe('the functions', () => {
  const lock = (owner: string, leaseMs: number, mayTake = true) => guards().lock('l', owner, leaseMs, mayTake)

  it('give a lock to one owner, with a higher token each time', async () => {
    const first = (await lock('a', 10_000)) as { fence: number }
    expect(first.fence).toBeGreaterThan(1.6e15)
    // Its answer was lost, and it is renewed.
    expect(await lock('a', 10_000)).toEqual(first)
    expect(await lock('a', 10_000, false)).toEqual(first)
    expect(await lock('b', 10_000, false)).toEqual({ waitMs: 0 })
    expect(await lock('b', 0)).toEqual({ waitMs: 0 })
    expect(((await lock('b', 10_000)) as { waitMs: number }).waitMs).toBeGreaterThanOrEqual(100)
    expect(await lock('a', 0)).toEqual(first)
    expect(await lock('a', 10_000, false)).toEqual({ waitMs: 0 })
    const key = makeKeys(it_.namespace).lock('l')
    // A server whose clock is behind.
    await it_.redis.hset(key, 'fence', '9000000000000000')
    expect(await lock('b', 10_000)).toEqual({ fence: 9_000_000_000_000_001 })
    await forget()
  })

  it('send those who wait away one after the other, for as long as it was held, and one to when its lease would end', async () => {
    const key = makeKeys(it_.namespace).lock('l')
    await lock('a', 60_000)
    const since = Number(await it_.redis.hget(key, 'since'))
    await it_.redis.hset(key, 'since', String(since - 1000))
    const waits: number[] = []
    for (let n = 0; n < 100; n++) waits.push(((await lock(`w${n}`, 60_000)) as { waitMs: number }).waitMs)
    expect(waits[0]).toBeGreaterThanOrEqual(1000)
    expect(waits[99]! - waits[0]!).toBeGreaterThan(100)
    await it_.redis.hset(key, 'since', String(since - 3_600_000))
    expect(((await lock('x', 60_000)) as { waitMs: number }).waitMs).toBeLessThanOrEqual(5000)
    const till = Number(await it_.redis.hget(key, 'till')) - 57_000
    await it_.redis.hset(key, 'till', String(till))
    const heir = ((await lock('y', 60_000)) as { waitMs: number }).waitMs
    expect(heir).toBeLessThanOrEqual(3000)
    expect(((await lock('z', 60_000)) as { waitMs: number }).waitMs).toBeGreaterThan(heir)
    await forget()
  })

  it('let a lock go whose lease ended, and keep who had it from renewing it', async () => {
    const first = (await lock('a', 1000)) as { fence: number }
    await it_.redis.hset(makeKeys(it_.namespace).lock('l'), 'till', '1')
    // Nobody took it: no harm was done.
    expect(await lock('a', 1000, false)).toEqual(first)
    await it_.redis.hset(makeKeys(it_.namespace).lock('l'), 'till', '1')
    const second = (await lock('b', 1000)) as { fence: number }
    expect(second.fence).toBeGreaterThan(first.fence)
    expect(await lock('a', 1000, false)).toEqual({ waitMs: 0 })
    await forget()
  })

  it('keep nobody waiting for longer than the lease, or minutes for a turn, after the clock was set back', async () => {
    const key = makeKeys(it_.namespace).lock('l')
    const first = (await lock('a', 2000)) as { fence: number }
    const ahead = String(Number(await it_.redis.hget(key, 'till')) + 7_200_000)
    await it_.redis.hset(key, 'since', ahead, 'till', ahead, 'turn', ahead)
    const waits: number[] = []
    for (const other of ['b', 'c', 'd']) waits.push(((await lock(other, 2000)) as { waitMs: number }).waitMs)
    expect(Math.max(...waits)).toBeLessThanOrEqual(2000)
    expect(Number(await it_.redis.hget(key, 'till'))).toBeLessThan(Number(ahead) - 7_000_000)
    // Its owner, if it lives, goes on.
    expect(await lock('a', 2000, false)).toEqual(first)
    await eventually(async () => 'fence' in (await lock('b', 2000)))
    await forget()
  })

  it('admit no more than the limit, also where it becomes another one or the clock is set back', async () => {
    const admit = (limit: number, comesBack = true) => guards().admit('r', limit, 60_000, comesBack)
    expect([await admit(2), await admit(2)]).toEqual([0, 0])
    const [first, second, third] = [await admit(2), await admit(2), await admit(2)]
    expect(first).toBeGreaterThan(30_000)
    expect(second!).toBeGreaterThan(first!)
    expect(third!).toBeGreaterThan(second!)
    expect(await admit(2, false)).toBeLessThanOrEqual(60_000)
    expect(await admit(3)).toBe(0)
    expect(await admit(1, false)).toBeGreaterThan(30_000)
    // Most of those that were told so may have been cancelled.
    await it_.redis.set(makeKeys(it_.namespace).told('r'), `${Number((await it_.redis.time())[0]) + 86_400}000000`)
    expect(await admit(3)).toBeLessThanOrEqual(300_000)
    const key = makeKeys(it_.namespace).rate('r')
    const [seconds] = await it_.redis.time()
    await it_.redis.del(key)
    await it_.redis.rpush(key, `${Number(seconds) + 86_400}000000`)
    expect(await admit(1, false)).toBe(0)
    expect(await admit(1, false)).toBeGreaterThan(30_000)
    expect(await it_.redis.llen(key)).toBe(1)
    await forget()
  })
})
