import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { delay } from '../support/delay.ts'
import { eventually, failure } from '../support/hub-fixture.ts'
import { openPage, shopTasks } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()

const field = (page: Page) => page.getByRole('combobox', { name: 'Search everything' })
const option = (page: Page, name: string | RegExp) => page.getByRole('dialog').getByRole('option', { name })
const title = (page: Page, name: string | RegExp) => page.getByRole('heading', { name, level: 1 }).waitFor()
const open = async (page: Page) => {
  await page.keyboard.press('Control+k')
  await field(page).waitFor()
}

describe('the palette', () => {
  it('finds jobs and requests by their ids, and keys of jobs', async () => {
    fixture.allowLeftovers()
    await fixture.worker([...shopTasks(), defineTask('line:1.0', { keyed: 'ordered' }, () => undefined)])
    const registry = await fixture.registry()
    const hub = fixture.hub()
    const job = await hub.enqueue('resize_image:2.0', {}, { delayMs: 600_000 })
    await hub.enqueue('line:1.0', {}, { key: 'customer 42 <b>', delayMs: 600_000 })
    const { id } = (await failure(hub.call('always_fails:1.0', {}))) as unknown as { id: string }
    await eventually(async () => (await hub.failures()).length === 1)
    const page = await openPage(browser, registry, 'tasks')
    await title(page, 'Tasks')
    for (const [typed, text, heading, shown] of [
      [job.id, `${job.id} scheduled, resize_image:2.0`, job.id, 'scheduled'],
      ['customer', 'customer 42 <b> line:1.0, queue q', 'customer 42 <b>', 'line:1.0'],
      [id.slice(0, 9), `${id} TaskFailed, always_fails:1.0`, 'Failures', 'the printer is on fire'],
      ['resize_image:2.0', 'Jobs that are scheduled: “resize_image:2.0” ids,', 'Jobs', job.id.slice(0, 8)],
    ] as const) {
      await open(page)
      await page.keyboard.type(typed)
      await option(page, text).click()
      await title(page, heading)
      await page.locator('main').getByText(shown).first().waitFor()
    }
  })
})

/** What a press of the button saves. */
const saved = async (page: Page, group: string | RegExp, kind: 'CSV' | 'JSON') => {
  const coming = page.waitForEvent('download')
  await page.getByRole('group', { name: group }).getByRole('button', { name: kind }).click()
  const file = await coming
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), 'utf8') }
}

it('each table is saved as it is filtered and sorted', async () => {
  // The record of the job that is cancelled at the end.
  fixture.allowLeftovers()
  const registry = await fixture.registry()
  const pause = defineTask('pause:1.0', {}, () => delay(30, 'only a call of more than a millisecond is slow'))
  await fixture.worker([...shopTasks(), pause], { queue: 'images' })
  const hub = fixture.hub({ name: 'web' })
  await hub.call('pause:1.0', {})
  const job = await hub.enqueue('pause:1.0', {}, { delayMs: 3600_000, queue: 'images', tracked: true })
  fixture.onEnd(() => job.cancel())
  await hub.schedule('nightly', { cron: '0 3 * * *' }, 'pause:1.0', {})
  fixture.onEnd(() => hub.schedules('images').remove('nightly'))

  const page = await openPage(browser, registry, '', { viewport: { width: 1300, height: 900 } })
  for (const [path, group, column, value] of [
    ['tasks?q=pause', 'Export 1 task', 'task', 'pause:1.0'],
    ['queues', 'Export 1 queue', 'queue', 'images'],
    ['workers', 'Export 1 worker', 'state', 'serving'],
    ['slow?task=pause:1.0', 'Export 1 slow call', 'longest', 'run'],
    ['jobs?state=scheduled', 'Export 1 job', 'job', job.id],
    ['schedules', 'Export 1 schedule', 'name', 'nightly'],
  ] as const) {
    await page.goto(registry.at(path))
    expect(JSON.parse((await saved(page, group, 'JSON')).text)).toMatchObject([{ [column]: value }])
    expect((await saved(page, group, 'CSV')).text.split('\r\n')).toHaveLength(3)
  }
  await page.goto(registry.at('tasks?q=zebra'))
  await page.getByText('No task fits.').waitFor()
  expect(await page.getByRole('button', { name: 'CSV' }).count()).toBe(0)
})
