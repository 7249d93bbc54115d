import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { Driver, same } from './form-driver.ts'
import { problemsOf, useFormPage } from './form-fixture.ts'
import { cssString, shownValue } from './form-look.ts'
import { type SchemaCase, schemaCases } from './form-schemas.ts'

const wrongAt = (page: Page, pointer: string) =>
  page
    .locator(`[data-field=${cssString(pointer)}]`)
    .locator('.wrong')
    .first()

const enter = async (page: Page, { branches, formCannot }: SchemaCase, value: unknown, via?: 'json'): Promise<void> => {
  if (via === 'json' || formCannot !== undefined) await page.locator('#json').fill(JSON.stringify(value))
  else await new Driver(page, branches).enter('', value)
}

/** Goes to the field the way a person does who reads the list of problems, and on to the next one. */
const visit = async (page: Page, pointer: string): Promise<void> => {
  const entry = page.getByRole('region', { name: 'Problems' }).locator('button', {
    has: page.getByText(pointer === '' ? 'the whole' : pointer, { exact: true }),
  })
  await entry.first().click()
  await page.keyboard.press('Tab')
}

describe('each schema of the set', () => {
  const browser = useBrowser({ keepPages: true })
  const form = useFormPage()
  let page: Page

  it('has at least 64 and tells of those that the form cannot express', () => {
    expect(schemaCases.length).toBeGreaterThanOrEqual(64)
    for (const { file, case: one } of schemaCases)
      if (one.formCannot === undefined && one.invalid.some(entry => entry.via)) expect(one.note, file).toBeTruthy()
  })

  it.each(schemaCases)('$file', { timeout: 60_000 }, async ({ text, case: one }) => {
    page ??= await browser.page()
    if (one.valid.length + one.invalid.length === 0) await form.open(page, text)
    for (const value of one.valid) {
      await form.open(page, text)
      await enter(page, one, value)
      await expect.poll(() => shownValue(page).then(found => same(found, value) || found)).toBe(true)
      await expect.poll(() => problemsOf(page), { message: JSON.stringify(value) }).toEqual([])
    }
    for (const { value, pointer, via } of one.invalid) {
      await form.open(page, text)
      await enter(page, one, value, via)
      await expect
        .poll(async () => (await problemsOf(page)).map(problem => problem.pointer), { message: JSON.stringify(value) })
        .toContain(pointer)
      await visit(page, pointer)
      await wrongAt(page, pointer).waitFor()
    }
    if (one.slow) {
      await form.open(page, text)
      await enter(page, one, one.slow.value)
      await page.getByText('Not checked here: it took too long').waitFor()
      expect(await shownValue(page)).toEqual(one.slow.value)
    }
    expect(await page.title(), 'a text was run').toBe('form')
  })
})
