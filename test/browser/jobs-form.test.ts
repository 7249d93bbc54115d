import { describe, expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { dialog, heading, office } from '../support/office-fixture.ts'
import { openPage, rowText, textOf } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()

describe('the form of a task', () => {
  it('enqueues what is in it, leads to the job, and lets only admins schedule it', async () => {
    const { registry } = await office(fixture, 0)
    const page = await openPage(browser, registry, 'tasks/print:1.0', { role: 'run' })
    await page.getByRole('textbox', { name: 'page' }).fill('4')
    await page.getByText('Job options').click()
    await page.getByLabel('When').selectOption('after a delay')
    await page.getByRole('button', { name: 'Enqueue' }).click()
    await page.getByText('The delay must be a number.').waitFor()
    await page.getByLabel('Delay', { exact: true }).fill('10')
    await page.getByLabel('Retries').fill('2')
    await page.getByLabel('Priority').selectOption('high')
    await page.getByLabel('Only once').selectOption('id')
    await page.getByLabel('Unique id').fill('once')
    await page.getByRole('button', { name: 'Enqueue' }).click()
    await page.getByText(/^Enqueued as/).waitFor()
    await page.getByRole('button', { name: 'Enqueue' }).click()
    await page.getByText(/^A duplicate of/).waitFor()
    await page.locator('summary', { hasText: 'Schedule' }).click()
    await page.getByText('This needs the role admin; yours is run.').waitFor()
    await page.getByRole('link', { name: /^job / }).click()
    await heading(page, /^Job /)
    await expect
      .poll(() => textOf(page.locator('.facts')))
      .toMatch(/Failed never of 3 tries Priority high .* \(in \d+ min.* Unique for print:1\.0:once/)
    await expect.poll(() => textOf(page.locator('.job-value'))).toContain('"page": 4')
  })

  it('makes a schedule, which is paused, run, resumed and removed on its page', async () => {
    const { registry } = await office(fixture, 0)
    const page = await openPage(browser, registry, 'tasks/print:1.0')
    await page.getByRole('textbox', { name: 'page' }).fill('6')
    await page.locator('summary', { hasText: 'Schedule' }).click()
    await page.getByLabel('Name of the schedule').fill('nightly')
    browser.allow(/status of 400 .*schedules/)
    await page.getByLabel('Cron').fill('at night')
    await page.getByLabel('Time zone').fill('Europe/Berlin')
    await page.getByRole('button', { name: 'Schedule it' }).click()
    await page.getByText(/cron 'at night' in Europe\/Berlin/).waitFor()
    await page.getByLabel('Cron').fill('0 3 * * *')
    await page.getByRole('button', { name: 'Schedule it' }).click()
    await page.getByRole('link', { name: 'nightly' }).click()
    await heading(page, 'Schedules')
    await expect
      .poll(() => rowText(page, 'nightly'))
      .toMatch(/^nightly print:1\.0 0 3 \* \* \* Europe\/Berlin in .* never once office Run now Pause Remove$/)
    const act = async (name: string, verb: string) => {
      await page.getByRole('button', { name: `${name} nightly` }).click()
      await dialog(page).getByRole('button', { name: verb }).click()
      await expect.poll(() => dialog(page).count()).toBe(0)
    }
    await act('Run now', 'Enqueue its job')
    await page.getByText(/^nightly is enqueued as job/).waitFor()
    await act('Pause', 'Pause it')
    await expect.poll(() => rowText(page, 'nightly')).toMatch(/^nightly paused print:1\.0 .* paused for .* ago once/)
    await act('Resume', 'Resume it')
    await act('Remove', 'Remove it')
    await page.getByText('There is no schedule.').waitFor()
  })
})
