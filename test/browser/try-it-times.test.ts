import { describe, expect, it, vi } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { tokens, useRegistry } from '../support/registry-fixture.ts'
import { field, fold, jsonField, run, tab, tryIt } from './try-it-parts.ts'

// A browser on a machine that does other things as well.
vi.setConfig({ testTimeout: 60_000 })

describe('the try-it form', () => {
  const fixture = useRegistry()
  const browser = useBrowser()
  let runs = 0
  const remind = defineTask(
    'remind:1.0',
    { args: { type: 'object', properties: { at: { type: 'string', format: 'date-time' } } } },
    () => {
      if (++runs === 1) throw new Error('The first one fails.')
      return runs
    },
  )
  const open = async (timezoneId: string) => {
    runs = 0
    await fixture.worker([remind])
    const registry = await fixture.registry()
    const page = await browser.page({ timezoneId })
    await page.goto(`${registry.at('tasks/remind%3A1.0')}#token=${tokens.run}`)
    await tryIt(page).waitFor()
    return page
  }

  it('says in which zone a time is picked, which is the local one or UTC', async () => {
    const page = await open('Asia/Tokyo')
    const pick = page.getByLabel('Pick: at')
    const note = page.locator('.zone-note')
    expect(await note.textContent()).toBe('picked in Asia/Tokyo')
    await pick.fill('2026-05-01T09:00:00')
    expect(await field(page, 'at').inputValue()).toBe('2026-05-01T00:00:00Z')
    expect(await note.textContent()).toBe('2026-05-01 09:00:00 in Asia/Tokyo')
    await page.locator('label', { hasText: 'Clock' }).locator('select').selectOption('UTC')
    await expect.poll(() => note.textContent()).toBe('2026-05-01 00:00:00 in UTC')
    expect(await pick.inputValue()).toMatch(/^2026-05-01T00:00/)
    await pick.fill('2026-05-01T09:00:00')
    expect(await field(page, 'at').inputValue()).toBe('2026-05-01T09:00:00Z')
  })

  it('asks before it repeats what is not idempotent, and tells why something failed before where its time went', async () => {
    browser.allow(/status of 500/)
    const page = await open('UTC')
    await run(page).click()
    await page.locator('.failure-message').waitFor()
    const [message, phases] = await Promise.all(
      ['.failure-message', '.call-phases'].map(async name => (await page.locator(name).boundingBox())!.y),
    )
    expect(message).toBeLessThan(phases!)
    await fold(page, 'Repeat').click()
    await page.getByRole('textbox', { name: 'Runs, one after the other' }).fill('5')
    const repeat = page.getByRole('button', { name: 'Repeat', exact: true })
    await repeat.click()
    await page.getByRole('button', { name: 'Leave it' }).click()
    await tab(page, 'JSON').click()
    await jsonField(page).waitFor()
    expect(runs).toBe(1)
    await repeat.click()
    await page.getByRole('button', { name: 'Run it 5 times' }).click()
    await page.locator('.repeat-summary').getByText('5', { exact: true }).first().waitFor()
    expect(runs).toBe(6)
  })
})
