import { describe, expect, it } from 'vitest'
import { Driver, same } from './form-driver.ts'
import { FormOnPaper } from './form-on-paper.ts'
import { type SchemaCase, schemaCases } from './form-schemas.ts'

const enter = async (form: FormOnPaper, { branches, formCannot }: SchemaCase, value: unknown, via?: 'json') => {
  if (via === 'json' || formCannot !== undefined) await form.take(JSON.stringify(value))
  else await new Driver(form, branches).enter('', value)
}

// Here by the form's model alone, which takes a moment; form-schemas-drawn.test.ts does the same in a browser with some of them.
describe('each schema of the set', () => {
  it('has at least 64 and tells of those that the form cannot express', () => {
    expect(schemaCases.length).toBeGreaterThanOrEqual(64)
    for (const { file, case: one } of schemaCases)
      if (one.formCannot === undefined && one.invalid.some(entry => entry.via)) expect(one.note, file).toBeTruthy()
  })

  it.each(schemaCases)('$file', async ({ text, case: one }) => {
    const open = () => new FormOnPaper(JSON.parse(text).schema)
    if (one.valid.length + one.invalid.length === 0) expect((await open().look('')).isThere).toBe(true)
    for (const value of one.valid) {
      const form = open()
      await enter(form, one, value)
      const shown = await form.shown('')
      expect(same(shown, value) || shown).toBe(true)
      expect(form.verdict().problems, JSON.stringify(value)).toEqual([])
    }
    for (const { value, pointer, via } of one.invalid) {
      const form = open()
      await enter(form, one, value, via)
      const pointers = form.verdict().problems.map(problem => problem.pointer)
      expect(pointers, JSON.stringify(value)).toContain(pointer)
      expect(form.leadsTo(pointer), `somebody is led to ${pointer}`).toBe(true)
    }
  })
})
