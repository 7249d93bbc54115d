import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { openPage } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'
import { judge } from './judge.ts'
import { field, fold, heading, jsonField, run, tab, tryIt } from './try-it-parts.ts'

const fixture = useRegistry()
const browser = useBrowser()
const viewport = { width: 1300, height: 900 }

const open = async (tasks: Parameters<typeof fixture.worker>[0], task: string, options = {}) => {
  await fixture.worker(tasks)
  const registry = await fixture.registry()
  const page = await openPage(browser, registry, `tasks/${task}`, { role: 'run', viewport, ...options })
  await tryIt(page).waitFor()
  return { page, registry }
}

let runs = 0
const remind = defineTask(
  'remind:1.0',
  { args: { type: 'object', properties: { at: { type: 'string', format: 'date-time' } } } },
  () => {
    if (++runs === 1) throw new Error('The first one fails.')
    return runs
  },
)

const remindIn = async (timezoneId: string) => {
  runs = 0
  return (await open([remind], 'remind:1.0', { timezoneId })).page
}

it('a dangerous task says so, and is run, enqueued and repeated only once its name was typed', async () => {
  fixture.allowLeftovers()
  let runs = 0
  const wipe = defineTask('wipe:1.0', { dangerous: 'Deletes <b>all</b> orders.', idempotent: true }, () => ++runs)
  const mild = defineTask('mild:1.0', {}, () => 1)
  await fixture.worker([wipe, mild])
  const registry = await fixture.registry()
  const page = await openPage(browser, registry, 'tasks', { role: 'run', viewport })
  await page.locator('main a[href*="tasks/wipe"]').first().waitFor()
  await expect.poll(() => page.locator('.badge', { hasText: 'dangerous' }).count()).toBe(1)
  await page.locator('main a[href*="tasks/wipe"]').first().click()
  await tryIt(page).waitFor()
  await expect.poll(() => page.locator('.danger-note').textContent()).toBe('Dangerous. Deletes <b>all</b> orders.')
  const dialog = page.getByRole('dialog')
  await run(page).click()
  await dialog.getByRole('textbox').fill('wipe:1')
  await dialog.getByRole('button', { name: 'Run it' }).click({ force: true })
  await expect.poll(() => dialog.count()).toBe(1)
  await judge(page, 'dangerous', browser)
  await dialog.getByRole('button', { name: 'Cancel' }).click()
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
  await page.getByText('3 runs are finished.').waitFor()
  expect(runs).toBe(5)
})

it('a picker says in which zone a time is picked, which is the local one or UTC', async () => {
  const page = await remindIn('Asia/Tokyo')
  const pick = page.getByLabel('Pick: at')
  const note = page.locator('.zone-note')
  await expect.poll(() => note.textContent()).toBe('picked in Asia/Tokyo')
  await pick.fill('2026-05-01T09:00:00')
  await expect.poll(() => field(page, 'at').inputValue()).toBe('2026-05-01T00:00:00Z')
  await expect.poll(() => note.textContent()).toBe('2026-05-01 09:00:00 in Asia/Tokyo')
  await page.locator('label', { hasText: 'Clock' }).locator('select').selectOption('UTC')
  await expect.poll(() => note.textContent()).toBe('2026-05-01 00:00:00 in UTC')
  await expect.poll(() => pick.inputValue()).toMatch(/^2026-05-01T00:00/)
  await pick.fill('2026-05-01T09:00:00')
  await expect.poll(() => field(page, 'at').inputValue()).toBe('2026-05-01T09:00:00Z')
})

it('a task that is not idempotent is repeated only once somebody agreed; the page tells why something failed before where its time went', async () => {
  browser.allow(/status of 500/)
  const page = await remindIn('UTC')
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
  await page.getByRole('button', { name: 'Cancel' }).click()
  await tab(page, 'JSON').click()
  await jsonField(page).waitFor()
  expect(runs).toBe(1)
  await repeat.click()
  await page.getByRole('button', { name: 'Run it 5 times' }).click()
  await page.locator('.repeat-summary').getByText('5', { exact: true }).first().waitFor()
  expect(runs).toBe(6)
})
