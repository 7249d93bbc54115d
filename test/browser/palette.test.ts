import type { Page } from 'playwright-core'
import { describe, expect, it, vi } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { violationsOn } from '../support/axe.ts'
import { useBrowser } from '../support/browser.ts'
import { eventually, failure } from '../support/hub-fixture.ts'
import { look, openPage, shopTasks, textOf } from '../support/pages-fixture.ts'
import { type TestRegistry, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()
vi.setConfig({ testTimeout: 60_000 })

const field = (page: Page) => page.getByRole('combobox', { name: 'Search everything' })
const option = (page: Page, name: string | RegExp) => page.getByRole('dialog').getByRole('option', { name })
const chosen = (page: Page) => textOf(page.locator('[role=option][aria-selected=true]'))
const title = (page: Page, name: string | RegExp) => page.getByRole('heading', { name, level: 1 }).waitFor()
const open = async (page: Page) => {
  await page.keyboard.press('Control+k')
  await field(page).waitFor()
}

const shop = async (): Promise<TestRegistry> => {
  await fixture.worker(shopTasks(), { queue: 'images' })
  return fixture.registry()
}

describe('the palette', () => {
  it('leads to tasks, queues, workers and pages by the keyboard alone, from wherever one is', async () => {
    const registry = await shop()
    const page = await openPage(browser, registry, 'jobs', { colorScheme: 'light' })
    await title(page, 'Jobs')
    // Also while somebody types, and where single keys are off.
    await page.getByRole('searchbox').fill('x')
    await open(page)
    expect(await page.evaluate('document.activeElement.matches("[role=combobox]")')).toBe(true)
    expect(await chosen(page)).toBe('Overview')
    expect(await violationsOn(page)).toEqual([])
    await page.keyboard.type('resize 2')
    await option(page, 'resize_image:2.0').waitFor()
    expect(await chosen(page)).toContain('resize_image:2.0')
    const described = await field(page).getAttribute('aria-activedescendant')
    expect(await page.locator(`#${described}`).getAttribute('aria-selected')).toBe('true')
    await look(browser, page, 'palette')
    expect(await violationsOn(page)).toEqual([])
    await page.keyboard.press('Enter')
    await title(page, 'resize_image:2.0')
    expect(await field(page).count()).toBe(0)
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('resize_image:2.0')

    await open(page)
    await page.keyboard.type('images')
    await option(page, /^images$/).waitFor()
    await option(page, /^images$/).click()
    await title(page, 'images')
    await open(page)
    await page.keyboard.type(`pid ${process.pid}`)
    // Before there is an answer: the first that is found is taken.
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/workers\/./)
    await open(page)
    await page.keyboard.type('slow')
    await expect.poll(() => chosen(page)).toBe('Slow calls')
    await page.keyboard.press('ArrowUp')
    expect(await chosen(page)).toContain('Failures: “slow”')
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await title(page, 'Slow calls')
    await open(page)
    await page.keyboard.press('Control+k')
    await expect.poll(() => field(page).count()).toBe(0)
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await field(page).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => field(page).count()).toBe(0)
  })

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
    expect(await page.getByLabel('Clock').inputValue()).toBe('UTC')
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
})

describe('a saved filter', () => {
  it('is kept under a name, listed on its page and in the palette, and gone when it is removed or one logs out', async () => {
    browser.allow(/status of 401/)
    const registry = await shop()
    const page = await openPage(browser, registry, 'tasks', { colorScheme: 'light' })
    await page.getByText('3 tasks').waitFor()
    expect(await page.getByRole('button', { name: /filter/ }).count()).toBe(0)
    await page.getByRole('searchbox').fill('always')
    await page.getByRole('button', { name: 'Save this filter' }).click()
    await page.getByLabel('Name').fill('  what fails <i>  ')
    await page.getByRole('button', { name: 'Save what is shown' }).click()
    await page.getByRole('button', { name: 'Saved filters (1)' }).waitFor()
    await page.goto(registry.at('queues'))
    await title(page, 'Queues')
    expect(await page.getByRole('button', { name: /filter/ }).count()).toBe(0)
    await open(page)
    await page.keyboard.type('what fails')
    await expect.poll(() => chosen(page)).toBe('what fails <i> Tasks')
    await page.keyboard.press('Enter')
    await page.getByText('1 of 3 tasks').waitFor()
    expect(new URL(page.url()).search).toBe('?q=always')
    await page.getByRole('button', { name: 'Saved filters (1)' }).click()
    const dialog = page.getByRole('dialog', { name: 'Saved filters of Tasks' })
    await dialog.getByRole('link', { name: 'what fails <i>' }).waitFor()
    await look(browser, page, 'saved-filters')
    expect(await violationsOn(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Remove what fails <i>' }).click()
    await dialog.getByLabel('Name').fill('again')
    await dialog.getByRole('button', { name: 'Save what is shown' }).click()
    await page.getByRole('button', { name: 'Saved filters (1)' }).waitFor()
    const kept = () =>
      page.evaluate<string[]>('Object.keys(localStorage).filter(name => name.startsWith("pshub-filters"))')
    expect(await kept()).toHaveLength(1)
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByLabel('Token').waitFor()
    expect(await kept()).toEqual([])
  })

  it('that was spoilt, or leads elsewhere, is passed over', async () => {
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
    expect(await textOf(page.getByRole('dialog').getByRole('list'))).toBe('right Remove')
  })
})
