import assert from 'node:assert/strict'
import { functionOf, libraryText, type Operation } from '../../src/redis/library.ts'
import type { PlantedBugs } from './planted-bugs.ts'

/** The library with a change in one of its functions, or in what they share. Throws where that is not in there. */
const changedLibrary = (operation: string, from: string, to: string): string => {
  const functions = libraryText().split(/^(?=redis\.register_function)/m)
  const name = operation === 'shared' ? undefined : functionOf(operation as Operation)
  const at = name === undefined ? 0 : functions.findIndex(text => text.includes(`'${name}'`))
  assert(functions[at]!.includes(from), `${operation} has no '${from}' any more`)
  return functions
    .with(
      at,
      functions[at]!.replace(from, () => to),
    )
    .join('')
}

/** One for each bug: what it is called, what a run has to do with that shows it, and the library that has it. */
export const eachBug = (bugs: PlantedBugs) =>
  Object.entries(bugs).flatMap(([operation, ofOperation]) =>
    ofOperation.map(([bug, from, to, touches = []]) => ({
      operation,
      bug,
      touches,
      library: () => changedLibrary(operation, from, to),
    })),
  )
