import { expect, it } from 'vitest'
import { compile, expectOnlyMistakes, plainUses, usesOfLibraries } from './type-programs.ts'

const timeout = 240_000

it('the oldest supported TypeScript sees the same types and mistakes', { timeout }, () => {
  expectOnlyMistakes(compile('typescript-5.4', plainUses()))
})

// The types of the libraries themselves do not always compile with it.
it('the oldest supported TypeScript infers types from schemas of libraries', { timeout }, () => {
  expect(compile('typescript-5.4', usesOfLibraries(), '--skipLibCheck')).toEqual([])
})

it.each(['typescript', 'typescript-5.4'])('types hold with the strictest options of %s', { timeout }, name => {
  const { 'uses.mts': uses } = plainUses()
  expect(compile(name, { 'uses.mts': uses! }, '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess')).toEqual([])
})
