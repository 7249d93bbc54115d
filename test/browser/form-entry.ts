import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import type { BrowserFixture } from '../support/browser.ts'
import { Driver, same } from './form-driver.ts'
import { problemsOf, type Stage, useFormPage } from './form-fixture.ts'
import { Hands } from './form-hands.ts'
import { cssString, shownValue } from './form-look.ts'
import type { schemaCases } from './form-schemas.ts'

/** A page that shows one form after the other. */
export const useForms = (browser: BrowserFixture) => {
  const form = useFormPage()
  let shared: Page | undefined
  return async (stage: Stage | string): Promise<Page> => {
    shared ??= await browser.page()
    await form.open(shared, stage)
    return shared
  }
}

/** Enters each value of a schema the way a person does, and looks what the form makes of it. */
export const enterValues = async (
  open: ReturnType<typeof useForms>,
  { text, case: one }: (typeof schemaCases)[number],
): Promise<void> => {
  const enter = async (value: unknown, via?: 'json'): Promise<Page> => {
    const page = await open(text)
    if (via === 'json' || one.formCannot !== undefined) await page.locator('#json').fill(JSON.stringify(value))
    else await new Driver(new Hands(page), one.branches).enter('', value)
    return page
  }
  for (const value of one.valid) {
    const page = await enter(value)
    await expect.poll(() => shownValue(page).then(found => same(found, value) || found)).toBe(true)
    await expect.poll(() => problemsOf(page), { message: JSON.stringify(value) }).toEqual([])
  }
  for (const { value, pointer, via } of one.invalid) {
    const page = await enter(value, via)
    const pointers = async () => (await problemsOf(page)).map(problem => problem.pointer)
    await expect.poll(pointers, { message: JSON.stringify(value) }).toContain(pointer)
    // The list of problems leads to the field, which says so once somebody has left it.
    const name = page.getByText(pointer === '' ? 'the whole' : pointer, { exact: true })
    await page.getByRole('region', { name: 'Problems' }).locator('button', { has: name }).first().click()
    await page.keyboard.press('Tab')
    await page
      .locator(`[data-field=${cssString(pointer)}]`)
      .locator('.wrong')
      .first()
      .waitFor()
  }
  const page = await open(text)
  if (one.slow) {
    await new Driver(new Hands(page), one.branches).enter('', one.slow.value)
    await page.getByText('Not checked here: it took too long').waitFor()
    await expect.poll(() => shownValue(page)).toEqual(one.slow.value)
  }
  await page.locator('.schema-form .field').first().waitFor()
  await expect.poll(() => page.title(), { message: 'a text was run' }).toBe('form')
}
