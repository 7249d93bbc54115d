import { expect } from 'vitest'
import { functionOf, libraryText, type Operation } from '../../src/redis/library.ts'

/** The library with a change in one of its functions, or in what they share. */
export const changedLibrary = (operation: Operation | 'shared', from: string, to: string): string => {
  const functions = libraryText().split(/^(?=redis\.register_function)/m)
  const at = operation === 'shared' ? 0 : functions.findIndex(text => text.includes(`'${functionOf(operation)}'`))
  const wrong = functions[at]!.replace(from, () => to)
  expect(wrong).not.toBe(functions[at])
  return functions.with(at, wrong).join('')
}
