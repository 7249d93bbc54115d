import { describe, expect, it } from 'vitest'
import { makeCheck } from '../../registry/web/form/check/check.ts'
import { schemaCases } from '../browser/form-schemas.ts'

/** Which part is to blame depends on the branch that somebody chose. The browser tests enter these values through the form. */
const ofBranches = ['choice-nested', 'search-query']

describe('the check of a form', () => {
  it.each(schemaCases.filter(({ case: one }) => !one.slow))('$file', ({ file, text, case: one }) => {
    // The check writes into the schema it is given.
    const check = makeCheck(JSON.parse(text).schema)
    for (const value of one.valid) expect(check(value, []).problems, JSON.stringify(value)).toEqual([])
    for (const { value, pointer } of one.invalid) {
      const { problems, unchecked } = check(value, [])
      expect(unchecked).toBeUndefined()
      if (ofBranches.includes(file)) expect(problems, JSON.stringify(value)).not.toEqual([])
      else
        expect(
          problems.map(problem => problem.pointer),
          JSON.stringify(value),
        ).toContain(pointer)
    }
  })
})
