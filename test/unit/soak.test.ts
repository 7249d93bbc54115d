import { describe, expect, it } from 'vitest'
import { judge } from '../soak/level.mjs'

const samples = (valueAt: (n: number) => number, measure = 'heap, MB') =>
  Array.from({ length: 40 }, (_, n) => ({ [measure]: valueAt(n) }))

describe('the soak finds', () => {
  it.each([
    ['what stays level', samples(() => 20), true],
    ['what swings', samples(n => 20 + 2 * (n % 5)), true],
    ['what grows at first alone', samples(n => Math.min(20, 5 + 5 * n)), true],
    ['what grows on and on', samples(n => 20 + n / 3), false],
    ['handles that are left open', samples(n => 10 + n / 8, 'handles'), false],
    ['keys that are left behind', samples(n => n, 'keys in Redis'), false],
  ])('%s', (_, list, isLevel) => {
    expect(judge(list).every(row => row.isLevel)).toBe(isLevel)
  })

  it('nothing in too few samples', () => {
    expect(() => judge(samples(() => 1).slice(0, 4))).toThrow('Five samples')
  })
})
