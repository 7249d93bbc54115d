import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

it.each([
  ['short replies of one tick go in one push', 100, true],
  ['long ones are on their way before the tick ends', 20_000, false],
])('%s', async (_, chars, isOne) => {
  const ends: (() => void)[] = []
  const text = 'größer '.repeat(Math.ceil(chars / 7))
  const task = defineTask('long:1.0', {}, () => new Promise<string>(resolve => ends.push(() => resolve(text))))
  // Before anybody sends anything: ioredis takes a line that comes with the answer to MONITOR for a disorder.
  const monitor = await it_.redis.monitor()
  it_.onEnd(() => monitor.disconnect())
  const pushes: string[] = []
  monitor.on('monitor', (_: string, [command, list]: string[]) => {
    if (command === 'rpush' && list!.startsWith(`${it_.namespace}:reply:`)) pushes.push(list!)
  })
  await it_.worker([task], { slots: 4 })
  const hub = it_.hub()
  const called = Array.from({ length: 4 }, () => hub.call('long:1.0'))
  await eventually(() => ends.length === 4)
  for (const end of ends) end()
  expect(await Promise.all(called)).toEqual([text, text, text, text])
  await eventually(() => pushes.length >= (isOne ? 1 : 2))
  expect(pushes.length === 1).toBe(isOne)
})
