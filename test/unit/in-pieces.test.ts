import fc from 'fast-check'
import { expect, it } from 'vitest'
import { sortedInPieces } from '../../src/catalogue/in-pieces.ts'
import { turnsOfOthers } from '../support/turns-of-others.ts'

it('many are sorted as few are, and what is equal keeps its order', async () => {
  const numbers = fc.array(fc.integer({ min: 0, max: 50 }), { minLength: 0, maxLength: 9000, size: 'max' })
  await fc.assert(
    fc.asyncProperty(numbers, async values => {
      const all = values.map((value, at) => ({ value, at }))
      const order = (a: { value: number }, b: { value: number }) => a.value - b.value
      expect(await sortedInPieces(all, order)).toEqual([...all].sort(order))
    }),
    { numRuns: 10 },
  )
})

it('others have their turn meanwhile', async () => {
  const all = Array.from({ length: 200_000 }, (_, at) => (at * 7919) % 1_000_003)
  expect(await turnsOfOthers(() => sortedInPieces(all, (a, b) => a - b))).toBeGreaterThan(1)
})
