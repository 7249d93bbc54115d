import { expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { office } from '../support/office-fixture.ts'
import { openPage } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'
import { everyControl, longArgs } from '../support/wide-tasks.ts'
import { judge, wide } from './judge.ts'
import { heading, run } from './try-it-parts.ts'

const fixture = useRegistry()
const browser = useBrowser()

// All pages and their states are judged in accessibility.long.test.ts.
it('six pages break no accessibility rule and fit a narrow screen', async () => {
  browser.allow(/status of 401/)
  const { registry } = await office(fixture, 2)
  await fixture.worker([everyControl], { queue: 'images' })
  const stranger = await browser.page(wide)
  await stranger.goto(registry.at('tasks'))
  await stranger.getByLabel('Token').waitFor()
  await judge(stranger, 'log-in')

  const page = await openPage(browser, registry, '', wide)
  await page
    .getByRole('img', { name: /^Calls per second/ })
    .first()
    .waitFor()
  await judge(page, 'overview')
  await page.goto(registry.at('tasks'))
  await page.getByRole('link', { name: 'every_control' }).waitFor()
  await judge(page, 'tasks')
  const packed = Buffer.from(JSON.stringify(longArgs)).toString('base64url')
  await page.goto(registry.at(`tasks/every_control:1.0#args=${packed}`))
  await expect.poll(() => page.locator('[data-folded]').count()).toBeGreaterThan(5)
  await run(page).click()
  await heading(page, 'Result').waitFor()
  await judge(page, 'task form')
  await page.goto(registry.at('jobs?state=dead'))
  await page.getByText('no such page').first().waitFor()
  await judge(page, 'jobs')
  await page.getByRole('row').nth(1).getByRole('link').nth(1).click()
  await heading(page, 'Arguments').waitFor()
  await judge(page, 'job')
})
