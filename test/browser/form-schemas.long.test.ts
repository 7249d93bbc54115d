import { describe, expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { same } from './form-driver.ts'
import { enterValues, useForms } from './form-entry.ts'
import { shownValue } from './form-look.ts'
import { schemaCases } from './form-schemas.ts'

/** Too large to be entered by hand; see the unit test of the check for their verdicts. */
const isGenerated = ({ case: one }: (typeof schemaCases)[number]) => one.generate !== undefined

describe('each schema of the set', () => {
  const open = useForms(useBrowser({ keepPages: true }))

  it.each(schemaCases.filter(one => !isGenerated(one)))('$file is entered through the form', one =>
    enterValues(open, one),
  )

  it.each(schemaCases.filter(isGenerated))('$file is drawn, and takes a value as JSON', async ({ text, case: one }) => {
    const page = await open(text)
    const value = one.valid[0] ?? one.invalid[0]?.value
    if (value !== undefined) {
      await page.locator('#json').fill(JSON.stringify(value))
      await expect.poll(async () => same(await shownValue(page), value)).toBe(true)
    }
    await page.locator('.schema-form .field').first().waitFor()
  })
})
