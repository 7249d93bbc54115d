import assert from 'node:assert/strict'
import fc from 'fast-check'
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

/** The runs are the same each time; PSHUB_MODEL_SEED begins others. */
const seed = Number(process.env.PSHUB_MODEL_SEED ?? 20)

/**
 * The first of so many runs that fails, or undefined. What fails with a bug must pass without it, or the search has found something
 * else.
 */
export const firstFailing = async <Run>(
  runs: fc.Arbitrary<Run>,
  numRuns: number,
  perform: (run: Run) => Promise<unknown>,
): Promise<Run | undefined> => {
  const property = fc.asyncProperty(runs, async each => {
    await perform(each)
  })
  const { counterexample } = await fc.check(property, { seed, numRuns, endOnFailure: true })
  return counterexample?.[0]
}
