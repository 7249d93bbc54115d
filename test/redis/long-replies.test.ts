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
  /** How many replies went in each. */
  const pushes: number[] = []
  monitor.on('monitor', (_: string, [command, list, ...replies]: string[]) => {
    // Its second list a hub writes by itself, to wake its own wait.
    if (command === 'rpush' && /:reply:\{[^}]*\}$/.test(list!) && list!.startsWith(`${it_.namespace}:`))
      pushes.push(replies.length)
  })
  await it_.worker([task], { slots: 4 })
  const hub = it_.hub()
  const called = Array.from({ length: 4 }, () => hub.call('long:1.0'))
  await eventually(() => ends.length === 4)
  for (const end of ends) end()
  expect(await Promise.all(called)).toEqual([text, text, text, text])
  await eventually(() => pushes.length >= (isOne ? 1 : 2))
  expect(Math.max(...pushes) === 4).toBe(isOne)
})
