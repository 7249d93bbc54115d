import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { eventually, failure } from '../support/hub-fixture.ts'
import { office } from '../support/office-fixture.ts'
import { openPage, shopTasks } from '../support/pages-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { useRegistry } from '../support/registry-fixture.ts'
import { keyTask } from '../support/wide-tasks.ts'
import { judge as judgeLooks, wide } from './judge.ts'
import { field, fold, heading, run } from './try-it-parts.ts'

const fixture = useRegistry()
const browser = useBrowser()

const judge = (page: Page, state: string) => judgeLooks(page, `axe-${state}`, browser)
const shown = (page: Page, text: string | RegExp) =>
  page.locator('main').getByText(text).locator('visible=true').first().waitFor()

describe('no rule of accessibility is broken', () => {
  it('by the empty registry and a page that is not there', async () => {
    browser.allow(/status of 40[14]/)
    const registry = await fixture.registry()
    const page = await openPage(browser, registry, '', wide)
    const known = ['', 'tasks', 'workers', 'queues', 'jobs', 'schedules', 'failures', 'slow', 'api-reference']
    for (const path of [...known, 'workers/none', 'nowhere', 'tasks/none:1.0', 'jobs/none']) {
      await page.goto(registry.at(path))
      await page.getByRole('heading', { level: 1 }).waitFor()
      await expect.poll(() => page.getByText('Reading…').count()).toBe(0)
      await judge(page, `${path}, empty`)
    }
    await page.keyboard.press('?')
    await page.getByRole('dialog').waitFor()
    await judge(page, 'keys')
  })

  it('by the lists, and the parts of a task', async () => {
    const registry = await fixture.registry()
    const worker = await fixture.worker(shopTasks(), { queue: 'images' })
    const hub = fixture.hub({ name: 'web' })
    await Promise.all(Array.from({ length: 20 }, () => hub.call('resize_image:1.0', { width: 3 })))
    for (let call = 0; call < 2; call++) await failure(hub.call('always_fails:1.0', {}))
    const page = await openPage(browser, registry, '', wide)
    for (const [path, text] of [
      ['', /^Calls per second/],
      ['tasks', 'always_fails'],
      ['tasks?q=zebra', 'No matching tasks.'],
      ['workers', `pid ${process.pid}`],
      ['api-reference?q=2.0', 'Errors'],
      ['queues', 'images'],
      ['queues/images', 'Backlog'],
      ['tasks/resize_image:1.0?part=schema', '"Pixels."'],
      ['tasks/resize_image:1.0?part=versions', '2.0'],
      ['tasks/resize_image:1.0?part=live', 'Run time'],
      ['tasks/resize_image:1.0?part=workers', `pid ${process.pid}`],
      ['tasks/always_fails:1.0?part=failures', 'TaskFailed'],
      ['slow', 'resize_image:1.0'],
      [`workers/${worker.id}`, 'TaskFailed 2'],
    ] as const) {
      await page.goto(registry.at(path))
      await shown(page, text)
      await judge(page, path || 'overview')
    }
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Search everything' }).fill('images')
    await page.getByRole('dialog').getByRole('option', { name: 'images', exact: true }).waitFor()
    await judge(page, 'palette')
    await page.goto(registry.at('queues/images'))
    await page.getByRole('button', { name: 'Pause images' }).click()
    await page.getByRole('dialog').waitFor()
    await judge(page, 'pause asked')
    await page.getByRole('button', { name: 'Pause the queue' }).click()
    await page.getByText(/is paused: its workers claim nothing/).waitFor()
    await judge(page, 'queue paused')
    await hub.resume('images')
  })

  it('by the form, with its folds, problems and errors', async () => {
    browser.allow(/status of 500/)
    const registry = await fixture.registry()
    await fixture.worker(shopTasks(), { queue: 'images' })
    const page = await openPage(browser, registry, 'tasks/resize_image:1.0', wide)
    for (const name of ['Copy as', 'In the background', 'Schedule', 'Repeat'])
      if ((await fold(page, name).count()) > 0) await fold(page, name).first().click()
    await judge(page, 'folds open')
    await field(page, 'width').fill('-1')
    await run(page).click()
    await page.locator('[aria-invalid=true]').waitFor()
    await judge(page, 'problems')
    await page.goto(registry.at('tasks/always_fails:1.0'))
    await run(page).click()
    await page.getByText('the printer is on fire').first().waitFor()
    await judge(page, 'error')
  })

  it('by jobs, a job, a key and schedules', async () => {
    const { registry, hub } = await office(fixture, 3)
    await hub.enqueue('print:1.0', { page: 1 }, { delayMs: 600_000 })
    await fixture.worker([keyTask], { queue: 'shop' })
    await hub.enqueue('sync:1.0', { n: 1 }, { key: 'a', score: 1 })
    const keys = queueKeys(fixture, 'shop')
    await eventually(async () => (await fixture.redis.zscore(keys.later, 'sync:1.0 a')) !== null)
    await hub.schedule('nightly', { cron: '0 3 * * *' }, 'print:1.0')
    const page = await openPage(browser, registry, 'jobs?state=dead', wide)
    await page.getByText('no such page').first().waitFor()
    await judge(page, 'dead jobs')
    await page.getByRole('button', { name: 'Retry all' }).click()
    await page.getByRole('dialog').waitFor()
    await judge(page, 'bulk')
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    await page.getByRole('row').nth(1).getByRole('link').nth(1).click()
    await heading(page, 'Arguments').waitFor()
    await page.getByRole('button', { name: 'Edit and retry' }).click()
    await page.getByRole('button', { name: 'Retry with these arguments' }).waitFor()
    await judge(page, 'job edited')
    for (const [path, text] of [
      ['jobs?state=scheduled', 'print:1.0'],
      ['key?task=sync:1.0&key=a&queue=shop', 'the shop is closed'],
      ['schedules', 'nightly'],
    ] as const) {
      await page.goto(registry.at(path))
      await shown(page, text)
      await judge(page, path)
    }
  })
})
