import { it } from 'vitest'
import { compile, expectOnlyMistakes, plainUses, usesOfLibraries } from './type-programs.ts'

// One program for everything, because loading the types takes a compiler longer than checking the uses of them.
it('the newest TypeScript infers types from tasks, reports mistakes where they are, and accepts what the docs show', {
  timeout: 240_000,
}, () => {
  expectOnlyMistakes(compile('typescript', { ...plainUses(), ...usesOfLibraries() }))
})
