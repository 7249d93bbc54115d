import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { delay } from '../support/delay.ts'
import { failingCrowd } from '../support/failing-crowd.ts'
import { eventually, failure } from '../support/hub-fixture.ts'
import { openPage, shopTasks, textOf } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()

const field = (page: Page) => page.getByRole('combobox', { name: 'Search everything' })
const option = (page: Page, name: string | RegExp) => page.getByRole('dialog').getByRole('option', { name })
const chosen = (page: Page) => textOf(page.locator('[role=option][aria-selected=true]'))
const title = (page: Page, name: string | RegExp) => page.getByRole('heading', { name, level: 1 }).waitFor()
const open = async (page: Page) => {
  await page.keyboard.press('Control+k')
  await field(page).waitFor()
}

const shop = async () => {
  await fixture.worker(shopTasks(), { queue: 'images' })
  return fixture.registry()
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

  it('does what the frame can do', async () => {
    const page = await openPage(browser, await shop(), 'tasks', { colorScheme: 'light' })
    await title(page, 'Tasks')
    const act = async (typed: string, text: string) => {
      await open(page)
      await page.keyboard.type(typed)
      await expect.poll(() => chosen(page)).toBe(text)
      await page.keyboard.press('Enter')
      await expect.poll(() => field(page).count()).toBe(0)
    }
    await act('dark', 'Theme: dark')
    expect(await page.evaluate('document.documentElement.dataset.theme')).toBe('dark')
    await act('utc', 'Clock: time zone UTC')
    await expect.poll(() => page.getByLabel('Clock').inputValue()).toBe('UTC')
    await act('freeze', 'Freeze page')
    await page.getByText('Frozen', { exact: true }).waitFor()
    await act('switch off keys', 'Switch off keys that are pressed alone')
    await page.keyboard.press('?')
    await act('help', 'Help: all keys')
    await page.getByRole('dialog', { name: 'Keys' }).getByText('Search everything').waitFor()
    // A dialog that is open is not left by the way.
    await page.keyboard.press('Control+k')
    expect(await field(page).count()).toBe(0)
    await page.keyboard.press('Escape')
    await act('log out', 'Log out')
    await page.getByLabel('Token').waitFor()
  })

  it('says so where the service cannot search, and still leads to pages', async () => {
    browser.allow(/503|ERR_|status of/)
    const registry = await shop()
    const page = await openPage(browser, registry, 'tasks')
    await title(page, 'Tasks')
    await page.route('**/api/search?*', route =>
      route.fulfill({ status: 503, json: { error: { code: 'Unavailable', message: 'Redis is away.' } } }),
    )
    await open(page)
    await page.keyboard.type('queues')
    await page.getByText('cannot be searched now. Redis is away.').waitFor()
    await page.keyboard.press('Enter')
    await title(page, 'Queues')
  })

  it('passes over a saved filter that was spoilt, or leads elsewhere', async () => {
    const registry = await shop()
    const page = await openPage(browser, registry, 'tasks')
    await page.getByText('3 tasks').waitFor()
    const kept = [
      { name: 'elsewhere', place: '//example.org', query: '?x' },
      { name: 'odd', place: '__proto__', query: '?x' },
      { name: 7, place: 'tasks', query: '?q=x' },
      null,
      { name: 'right', place: 'tasks', query: '?q=always' },
    ]
    await page.evaluate(
      `localStorage.setItem('pshub-filters ${fixture.namespace}', ${JSON.stringify(JSON.stringify(kept))})`,
    )
    await page.reload()
    await page.getByRole('button', { name: 'Saved filters (1)' }).click()
    await expect.poll(() => textOf(page.getByRole('dialog').getByRole('list'))).toBe('right Remove')
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

it('the page of failures has the newest of very many, says so, and finds the others by task and words', async () => {
  await failingCrowd(fixture.redis, fixture.namespace, { workers: 30, tasks: 20 })
  const registry = await fixture.registry()
  const page = await openPage(browser, registry, 'failures')
  await page.getByText('Only the newest 1,000 of 6,000 failures that workers tell of are here').waitFor()
  await page.getByRole('group', { name: 'Export 1,000 of 6,000 failures' }).waitFor()
  await page.getByRole('combobox', { name: /^Task/ }).selectOption('task_7:1.0')
  await page.getByText(/^300 failures of 10 kinds, out of 6,000$/).waitFor()
  expect(await page.getByText('Only the newest').count()).toBe(0)
  await page.getByRole('searchbox').fill('call-29-7-9')
  await page.getByText('1 failure of 1 kind, out of 6,000').waitFor()
  await page.reload()
  await page.getByText('1 failure of 1 kind, out of 6,000').waitFor()
  await page.goto(registry.at('slow?task=task_7:1.0'))
  await page.getByText('300 of 6,000 calls').waitFor()
  await page.goto(registry.at('slow'))
  await page.getByText('Only the slowest 1,000 of 6,000 calls are here').waitFor()
})
