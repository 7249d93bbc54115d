import { expect, it } from 'vitest'
import { RedisClock } from '../../src/wire/redis-clock.ts'

const redisAt = (ms: number) => 1_795_000_000_000_000 + ms * 1000

it('is unknown at first', () => {
  expect(new RedisClock().atUs(5)).toBe(0)
})

it('is never ahead, and behind by the shortest of the last ways only', () => {
  const clock = new RedisClock()
  const ways = [40, 3, 25, 9]
  for (const [index, way] of ways.entries()) clock.learn(redisAt(index * 100), index * 100 + way)
  expect(clock.atUs(1000)).toBe(redisAt(1000 - 3))
})

it('follows a step back at once', () => {
  const clock = new RedisClock()
  clock.learn(redisAt(60_000), 60_001)
  clock.learn(redisAt(0), 61_004)
  expect(clock.atUs(61_004)).toBe(redisAt(0))
})

it('follows a small step back within two periods, and forgets when nothing is learned', () => {
  const clock = new RedisClock()
  clock.learn(redisAt(0), 1)
  const stepped = (ms: number) => redisAt(ms - 1500)
  for (let now = 1000; now <= 25_000; now += 1000) clock.learn(stepped(now), now + 1)
  expect(clock.atUs(26_000)).toBe(stepped(25_999))
  expect(clock.atUs(60_000)).toBe(0)
  clock.learn(redisAt(60_000), 60_001)
  expect(clock.atUs(60_002)).toBe(redisAt(60_001))
})
