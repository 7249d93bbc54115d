import { expect, it, vi } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { tokens, useRegistry } from '../support/registry-fixture.ts'
import { fourLooks } from './four-looks.ts'
import { fold, heading, run, tryIt } from './try-it-parts.ts'

vi.setConfig({ testTimeout: 90_000 })

const fixture = useRegistry()
const browser = useBrowser()

it('a dangerous task says so, and is run, enqueued and repeated only once its name was typed', async () => {
  fixture.allowLeftovers()
  let runs = 0
  const wipe = defineTask('wipe:1.0', { dangerous: 'Deletes <b>all</b> orders.', idempotent: true }, () => ++runs)
  const mild = defineTask('mild:1.0', {}, () => 1)
  await fixture.worker([wipe, mild])
  const registry = await fixture.registry()
  const page = await browser.page({ viewport: { width: 1300, height: 900 } })
  await page.goto(`${registry.at('tasks')}#token=${tokens.run}`)
  await page.locator('main a[href*="tasks/wipe"]').first().waitFor()
  expect(await page.locator('.badge', { hasText: 'dangerous' }).count()).toBe(1)
  await page.locator('main a[href*="tasks/wipe"]').first().click()
  await tryIt(page).waitFor()
  expect(await page.locator('.danger-note').textContent()).toBe('Dangerous. Deletes <b>all</b> orders.')
  const dialog = page.getByRole('dialog')
  await run(page).click()
  await dialog.getByRole('textbox').fill('wipe:1')
  await dialog.getByRole('button', { name: 'Run it' }).click({ force: true })
  expect(await dialog.count()).toBe(1)
  await fourLooks(browser, page, 'dangerous')
  await dialog.getByRole('button', { name: 'Leave it' }).click()
  await page.keyboard.press('Escape')
  expect([runs, await heading(page, 'Result').count()]).toEqual([0, 0])
  await run(page).click()
  await dialog.getByRole('textbox').fill('wipe:1.0')
  await page.keyboard.press('Enter')
  await heading(page, 'Result').waitFor()
  expect(runs).toBe(1)
  // Once for each time.
  await page.getByRole('button', { name: 'Enqueue', exact: false }).click()
  await dialog.getByRole('textbox').fill('wipe:1.0')
  expect(runs).toBe(1)
  await dialog.getByRole('button', { name: 'Enqueue it' }).click()
  await page.getByText('Enqueued as').waitFor()
  await expect.poll(() => runs).toBe(2)
  await fold(page, 'Repeat').click()
  await page.getByRole('textbox', { name: 'Runs, one after the other' }).fill('3')
  await page.getByRole('button', { name: 'Repeat', exact: true }).click()
  await dialog.getByRole('textbox').fill('wipe:1.0')
  await dialog.getByRole('button', { name: 'Run it 3 times' }).click()
  await page.getByText('3 runs are over.').waitFor()
  expect(runs).toBe(5)
})
