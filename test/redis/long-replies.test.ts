import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

/** Pushes to reply lists, as Redis counted them. */
const pushes = async (): Promise<number> => {
  const stats = await it_.redis.info('commandstats')
  return Number(/cmdstat_pexpire:calls=(\d+)/.exec(stats)?.[1] ?? 0)
}

it.each([
  ['short replies of one tick go in one push', 100, 1],
  ['long ones are on their way before the tick ends', 20_000, 2],
])('%s', async (_, chars, count) => {
  const ends: (() => void)[] = []
  const text = 'größer '.repeat(Math.ceil(chars / 7))
  const task = defineTask('long:1.0', {}, () => new Promise<string>(resolve => ends.push(() => resolve(text))))
  await it_.worker([task], { slots: 4 })
  const hub = it_.hub()
  const called = Array.from({ length: 4 }, () => hub.call('long:1.0'))
  await eventually(() => ends.length === 4)
  const before = await pushes()
  for (const end of ends) end()
  expect(await Promise.all(called)).toEqual([text, text, text, text])
  expect((await pushes()) - before).toBe(count)
})
