import { expect, it } from 'vitest'
import { fewAtOnce } from '../support/few-at-once.mjs'

it('runs no more than so many at once, and tells of them in order, each as soon as it can', async () => {
  const log: string[] = []
  const ends = new Map<number, () => void>()
  const work = (n: number) => {
    log.push(`start ${n}`)
    return new Promise<number>(resolve => ends.set(n, () => resolve(n)))
  }
  const all = fewAtOnce([0, 1, 2, 3], 2, work, n => log.push(`tell ${n}`))
  const end = async (n: number) => {
    ends.get(n)!()
    await new Promise(setImmediate)
    return log.splice(0)
  }
  expect(log.splice(0)).toEqual(['start 0', 'start 1'])
  expect(await end(1)).toEqual(['start 2'])
  expect(await end(2)).toEqual(['start 3'])
  expect(await end(0)).toEqual(['tell 0', 'tell 1', 'tell 2'])
  expect(await end(3)).toEqual(['tell 3'])
  expect(await all).toEqual([0, 1, 2, 3])
})
