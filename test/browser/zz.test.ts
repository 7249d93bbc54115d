import { it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { Driver } from './form-driver.ts'
import { useFormPage } from './form-fixture.ts'
import { schemaCases } from './form-schemas.ts'

const browser = useBrowser({ keepPages: true })
const form = useFormPage()
const names: [string, number, unknown?][] = [
  ['payment', 0],
  ['pod', 0],
  ['github-issue', 0],
  ['text-formats-time', 0],
  ['hostile-payloads', 0],
  ['text-empty-absent-null', 3],
]
it.each([
  ['light', 800],
  ['dark', 800],
  ['light', 390],
] as const)(
  'shots %s %i',
  async (theme, width) => {
    const page = await browser.page({ viewport: { width, height: 600 }, colorScheme: theme })
    for (const [name, i] of names) {
      const one = schemaCases.find(c => c.file === name)!
      await form.open(page, JSON.stringify({ schema: one.case.schema, value: one.case.valid[i] }))
      await page.waitForTimeout(300)
      if (name === 'payment') await new Driver(page).enter('/amount', 'x')
      if (name === 'payment') await new Driver(page).enter('/method/number', 'x')
      await browser.screenshot(page, `form-${name}-${theme}-${width}`)
    }
  },
  60000,
)
