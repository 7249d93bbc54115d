import { describe, expect, it } from 'vitest'
import { allSchemas, countOfValues, isSlow, judgeVector } from '../support/schema-vectors.ts'

describe('schemas of all languages', () => {
  it.each(allSchemas.filter(each => !isSlow(each)))('$file', { timeout: 60_000 }, judgeVector)

  it('have values for each, of both kinds where there are any', () => {
    for (const { file, case: one } of allSchemas) if (!one.unusable) expect(countOfValues(one), file).toBeGreaterThan(1)
  })
})
