import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { controlKinds, drawsToOperate, drivenElsewhere } from './control-kinds.ts'
import { Driver, same } from './form-driver.ts'
import { problemsOf, useFormPage } from './form-fixture.ts'
import { PageHands } from './form-hands.ts'
import { cssString, shownValue } from './form-look.ts'
import { FormOnPaper } from './form-on-paper.ts'
import { type SchemaCase, schemaCases } from './form-schemas.ts'
import { twinHands } from './twin-hands.ts'

/**
 * Of the set, the least that makes a person operate each kind of control (see control-kinds.ts; the last test counts them), and
 * what only a browser can tell: fields that come with a value, what may not be given at all, texts that would be scripts, and
 * patterns that must not hold up the page. All others are entered without a browser, in form-schemas.test.ts.
 */
const drawn = [
  'any-field',
  'array-tuple-open',
  'choice-nested',
  'const',
  'enum-many',
  'hostile-contradiction',
  'hostile-huge-enum',
  'hostile-pattern-keys',
  'hostile-pattern',
  'hostile-payloads',
  'null',
  'object-conditions',
  'object-map',
  'text-file',
  'text-formats-time',
  'text-lines',
  'text-secret',
]
const drawnCases = schemaCases.filter(({ file }) => drawn.includes(file))
const otherHostileCases = schemaCases.filter(({ file, case: one }) => one.hostile && !drawn.includes(file))

const wrongAt = (page: Page, pointer: string) =>
  page
    .locator(`[data-field=${cssString(pointer)}]`)
    .locator('.wrong')
    .first()

/** Goes to the field the way a person does who reads the list of problems, and on to the next one. */
const visit = async (page: Page, pointer: string): Promise<void> => {
  const entry = page.getByRole('region', { name: 'Problems' }).locator('button', {
    has: page.getByText(pointer === '' ? 'the whole' : pointer, { exact: true }),
  })
  await entry.first().click()
  await page.keyboard.press('Tab')
}

describe('in a browser', () => {
  const browser = useBrowser({ keepPages: true })
  const form = useFormPage()
  const operated = new Set<string>()
  let shared: Page
  const open = async (stage: Parameters<typeof form.open>[1]): Promise<Page> => {
    shared ??= await browser.page()
    await form.open(shared, stage)
    return shared
  }

  /** On the page and on paper alike; resolves with the latter. */
  const enter = async (
    page: Page,
    text: string,
    one: SchemaCase,
    value: unknown,
    via?: 'json',
  ): Promise<FormOnPaper> => {
    const paper = new FormOnPaper(JSON.parse(text).schema)
    if (via === 'json' || one.formCannot !== undefined) {
      await page.locator('#json').fill(JSON.stringify(value))
      await paper.take(JSON.stringify(value))
    } else {
      const hands = new PageHands(page, operated)
      await new Driver(twinHands(hands, paper), one.branches).enter('', value)
    }
    return paper
  }

  it.each(drawnCases)('$file is entered, as it is on paper', { timeout: 60_000 }, async ({ text, case: one }) => {
    const page = await open(text)
    for (const value of one.valid) {
      await open(text)
      await enter(page, text, one, value)
      await expect.poll(() => shownValue(page).then(found => same(found, value) || found)).toBe(true)
      await expect.poll(() => problemsOf(page), { message: JSON.stringify(value) }).toEqual([])
    }
    for (const { value, pointer, via } of one.invalid) {
      await open(text)
      const { problems } = (await enter(page, text, one, value, via)).verdict()
      expect(problems.map(problem => problem.pointer)).toContain(pointer)
      await expect.poll(() => problemsOf(page), { message: JSON.stringify(value) }).toEqual(problems)
      await visit(page, pointer)
      await wrongAt(page, pointer).waitFor()
    }
    if (one.slow) {
      await open(text)
      await new Driver(new PageHands(page), one.branches).enter('', one.slow.value)
      await page.getByText('Not checked here: it took too long').waitFor()
      expect(await shownValue(page)).toEqual(one.slow.value)
    }
    expect(await page.title(), 'a text was run').toBe('form')
  })

  it.each(otherHostileCases)('$file does no harm', async ({ text, case: one }) => {
    const value = one.valid[0] ?? one.invalid[0]?.value
    const page = await open(text)
    if (value !== undefined) {
      const paper = new FormOnPaper(JSON.parse(text).schema)
      await page.locator('#json').fill(JSON.stringify(value))
      await paper.take(JSON.stringify(value))
      expect(same(await shownValue(page), value)).toBe(true)
      await expect.poll(() => problemsOf(page)).toEqual(paper.verdict().problems)
    }
    await page.locator('.schema-form .field').first().waitFor()
    expect(await page.title(), 'a text was run').toBe('form')
  })

  it('what no schema of the set leads to is operated too', async () => {
    const schema = { type: 'object', properties: { text: { type: 'string' }, one: { const: 1 } }, required: ['one'] }
    const page = await open({ schema, value: { text: [2] } })
    const hands = new PageHands(page, operated)
    expect((await hands.look('/text')).control, 'a text field cannot show a list').toBe('json')
    await hands.type('/text', '["three"]')
    await hands.give('/one')
    expect(await shownValue(page)).toEqual({ text: ['three'], one: 1 })
  })

  // Last, because it counts what the others did.
  it('each kind of control was operated', () => {
    expect([...operated].sort()).toEqual(Object.keys(controlKinds).sort())
  })
})

describe('the list of kinds', () => {
  it('has each file of the form that draws something to operate', () => {
    const listed = Object.values(controlKinds).map(({ file }) => file)
    expect([...new Set([...listed, ...drivenElsewhere])].sort()).toEqual(drawsToOperate())
  })

  it('leaves out no schema that only a page can be asked about', () => {
    const slow = schemaCases.filter(({ case: one }) => one.slow).map(({ file }) => file)
    expect(slow.length).toBeGreaterThan(0)
    expect(drawn).toEqual(expect.arrayContaining(slow))
    expect(drawnCases.map(({ file }) => file)).toEqual(drawn)
  })
})
