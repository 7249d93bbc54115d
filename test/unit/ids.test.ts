import { expect, it } from 'vitest'
import { newId } from '../../src/wire/ids.ts'

it('an id is 22 characters, unlike all others, and no option of a command line', () => {
  const ids = Array.from({ length: 5000 }, newId)
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.filter(id => !/^\w[\w-]{21}$/.test(id))).toEqual([])
})
