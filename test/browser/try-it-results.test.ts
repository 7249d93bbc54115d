import { readFileSync } from 'node:fs'
import { expect, it, vi } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { tokens, useRegistry } from '../support/registry-fixture.ts'
import { fourLooks } from './four-looks.ts'
import { fold, heading, run, tab, tryIt } from './try-it-parts.ts'

vi.setConfig({ testTimeout: 90_000 })

const fixture = useRegistry()
const browser = useBrowser()

const orders = defineTask('orders:1.0', { idempotent: true }, () => ({
  total: 60,
  found: Array.from({ length: 60 }, (_, at) => ({
    id: at + 1,
    customer: at === 0 ? '=HYPERLINK("x")' : `customer ${60 - at}`,
    ...(at % 2 === 0 ? { paid: true } : {}),
    lines: [{ sku: 'a' }],
  })),
  refused: [{ why: 'late' }],
}))

const open = async () => {
  await fixture.worker([orders])
  const registry = await fixture.registry()
  const page = await browser.page({ viewport: { width: 1300, height: 900 } })
  await page.goto(`${registry.at('tasks/orders%3A1.0')}#token=${tokens.run}`)
  await tryIt(page).waitFor()
  return page
}

it('a list of objects is shown as a table, is sorted, and is saved as CSV', async () => {
  const page = await open()
  await run(page).click()
  await heading(page, 'Result').waitFor()
  await tab(page, 'Table').click()
  const table = page.locator('.result-table')
  const column = (name: string) => table.getByRole('button', { name, exact: true })
  const firstRow = () => table.locator('tbody tr').first().locator('td').allInnerTexts()
  expect(await table.locator('thead th').allInnerTexts()).toEqual(['id', 'customer', 'paid', 'lines'])
  expect(await firstRow()).toEqual(['1', '=HYPERLINK("x")', 'true', '[ 1 items ]'])
  expect(await table.locator('tbody tr').count()).toBe(50)
  await page.getByRole('button', { name: 'Show 10 more' }).click()
  expect(await table.locator('tbody tr').count()).toBe(60)
  await column('customer').click()
  expect(await table.locator('th[aria-sort=ascending]').textContent()).toContain('customer')
  await column('id').click()
  await column('id').click()
  expect(await table.locator('th[aria-sort=descending]').textContent()).toContain('id')
  expect(await firstRow()).toEqual(['60', 'customer 1', '–', '[ 1 items ]'])
  await fourLooks(browser, page, 'result-table')
  const coming = page.waitForEvent('download')
  await page.getByRole('group', { name: 'Export 60 rows' }).getByRole('button', { name: 'CSV' }).click()
  const lines = readFileSync(await (await coming).path(), 'utf8').split('\r\n')
  expect(lines[0]).toBe('\ufeffid,customer,paid,lines')
  expect(lines[1]).toBe('60,customer 1,,"[{""sku"":""a""}]"')
  // A spreadsheet would run it.
  expect(lines[60]).toBe(`1,"'=HYPERLINK(""x"")",true,"[{""sku"":""a""}]"`)
  await page.getByLabel('List').selectOption({ label: '/refused (1)' })
  expect(await firstRow()).toEqual(['late'])
})

it('repeated runs show how their times spread', async () => {
  const page = await open()
  await fold(page, 'Repeat').click()
  await page.getByRole('textbox', { name: 'Runs, one after the other' }).fill('8')
  await page.getByRole('button', { name: 'Repeat', exact: true }).click()
  await page.getByText('8 runs are over.').waitFor()
  const counts = await page.locator('.histogram td').allInnerTexts()
  expect(counts.reduce((sum, text) => sum + Number(text), 0)).toBe(8)
  expect(await page.locator('.histogram th[scope=row]').first().textContent()).toMatch(/\d.* – \d.* ?(ms|µs|s)/)
  await fourLooks(browser, page, 'repeat-histogram')
})
