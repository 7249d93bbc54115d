import type { Page } from 'playwright-core'
import { expect, it, vi } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { tokens, useRegistry } from '../support/registry-fixture.ts'
import { fourLooks } from './four-looks.ts'
import { heading, jsonField, tab, tryIt } from './try-it-parts.ts'

vi.setConfig({ testTimeout: 90_000 })

const fixture = useRegistry()
const browser = useBrowser()

const resize = defineTask(
  'resize:1.0',
  {
    args: {
      type: 'object',
      properties: {
        width: { type: 'integer', description: 'In pixels.', default: 800 },
        mode: { enum: ['fit', 'cut', 'fill'] },
        border: { type: 'object', properties: { colour: { type: 'string', examples: ['red', 'blue'] } } },
      },
      required: ['width'],
    },
  },
  args => args,
)

const open = async () => {
  await fixture.worker([resize])
  const registry = await fixture.registry()
  const page = await browser.page({ viewport: { width: 1300, height: 900 } })
  await page.goto(`${registry.at('tasks/resize%3A1.0')}#token=${tokens.run}`)
  await tryIt(page).waitFor()
  await tab(page, 'JSON').click()
  await jsonField(page).fill('')
  return page
}
const options = (page: Page) => page.locator('.offers [role=option]')
const chosen = (page: Page) => page.locator('.offers [aria-selected=true]')
/** What a screen reader is told that the field is on. */
const active = async (page: Page) => {
  const id = await jsonField(page).getAttribute('aria-activedescendant')
  return id === null ? null : page.locator(`[id="${id}"] code`).textContent()
}

it('JSON is completed with the keyboard alone, from a bare { to a run', async () => {
  const page = await open()
  await jsonField(page).focus()
  await page.keyboard.type('{')
  await expect.poll(() => options(page).locator('code').allInnerTexts()).toEqual(['width', 'mode', 'border'])
  // Nothing was begun: Enter is a new line.
  expect(await active(page)).toBeNull()
  await page.keyboard.press('Enter')
  expect(await jsonField(page).inputValue()).toBe('{\n')
  await page.keyboard.type('"w')
  await expect.poll(() => active(page)).toBe('width')
  expect(await options(page).first().textContent()).toContain('integer · required · In pixels.')
  await page.keyboard.press('Enter')
  await expect.poll(() => options(page).locator('code').allInnerTexts()).toEqual(['800'])
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.keyboard.type(',')
  await expect.poll(() => options(page).locator('code').allInnerTexts()).toEqual(['mode', 'border'])
  await page.keyboard.type('mo')
  await page.keyboard.press('Enter')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await expect.poll(() => active(page)).toBe('"cut"')
  expect(await chosen(page).count()).toBe(1)
  await page.keyboard.press('Enter')
  expect(await jsonField(page).inputValue()).toBe('{\n"width": 800,"mode": "cut"')
  await page.keyboard.type(', ')
  await page.keyboard.press('Control+ ')
  await page.keyboard.press('Enter')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  // Within the braces that were written, the next keys are offered at once.
  await expect.poll(() => options(page).locator('code').allInnerTexts()).toEqual(['colour'])
  await page.keyboard.press('Escape')
  await expect.poll(() => options(page).count()).toBe(0)
  await page.keyboard.press('End')
  await page.keyboard.type('}')
  await page.keyboard.press('Control+Enter')
  await heading(page, 'Result').waitFor()
  expect(JSON.parse(await jsonField(page).inputValue())).toEqual({ width: 800, mode: 'cut', border: {} })
  // What was taken can be taken back.
  await page.keyboard.press('Control+Z')
  await page.keyboard.press('Control+Z')
  expect(await jsonField(page).inputValue()).not.toContain('{}')
})

it('what is offered is told, taken by a click, and fits the page', async () => {
  const page = await open()
  await jsonField(page).focus()
  await page.keyboard.type('{ "mode": ')
  await options(page).first().waitFor()
  expect(await page.getByRole('status').allInnerTexts()).toContain('3 suggestions.')
  await page.keyboard.press('ArrowDown')
  // Its place is reckoned anew with each key, not with the width of the window.
  await fourLooks(browser, page, 'json-completion')
  await page.keyboard.press('Escape')
  await page.setViewportSize({ width: 390, height: 900 })
  await page.keyboard.type(' '.repeat(30))
  await page.keyboard.press('Control+ ')
  const [list, field] = await Promise.all([page.getByRole('listbox').boundingBox(), jsonField(page).boundingBox()])
  expect(list!.x + list!.width).toBeLessThanOrEqual(field!.x + field!.width + 1)
  await page.getByRole('option', { name: 'fill' }).click()
  expect(await jsonField(page).inputValue()).toMatch(/^\{ "mode": +"fill"$/)
  expect(await page.locator('textarea:focus').count()).toBe(1)
})
