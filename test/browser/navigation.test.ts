import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { openPage, shopTasks, textOf } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()

const shop = async () => {
  const registry = await fixture.registry()
  await fixture.worker(shopTasks(), { queue: 'images' })
  return registry
}

const field = (page: Page) => page.getByRole('combobox', { name: 'Search everything' })
const option = (page: Page, name: string | RegExp) => page.getByRole('dialog').getByRole('option', { name })
const chosen = (page: Page) => textOf(page.locator('[role=option][aria-selected=true]'))
const title = (page: Page, name: string | RegExp) => page.getByRole('heading', { name, level: 1 }).waitFor()
const open = async (page: Page) => {
  await page.keyboard.press('Control+k')
  await field(page).waitFor()
}

const focused = 'document.activeElement.textContent || document.activeElement.placeholder'

describe('by keyboard alone', () => {
  it('one gets everywhere', async () => {
    const page = await openPage(browser, await shop(), '')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    for (const [key, title] of [
      ['t', 'Tasks'],
      ['w', 'Workers'],
      ['q', 'Queues'],
      ['j', 'Jobs'],
      ['s', 'Schedules'],
      ['f', 'Failures'],
      ['c', 'Slow calls'],
      ['o', 'Overview'],
    ]) {
      await page.keyboard.press('g')
      await page.keyboard.press(key!)
      await page.getByRole('heading', { name: title!, level: 1 }).waitFor()
      await expect.poll(() => page.evaluate(focused)).toBe(title)
      await expect.poll(() => page.title()).toContain(title)
    }
    await page.keyboard.press('/')
    await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor()
    await expect.poll(() => page.evaluate(focused)).toContain('Search tasks')
    // Letters are a search now, not keys.
    await page.keyboard.type('gq?')
    await expect.poll(() => new URL(page.url()).search).toBe('?q=gq%3F')
    await page.keyboard.press('Control+A')
    await page.keyboard.type('always')
    await page.getByText('1 of 3 tasks').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('searchbox').inputValue()).toBe('always')
    await page.keyboard.press('?')
    const help = page.getByRole('dialog', { name: 'Keys' })
    await help.getByText('Go to the workers').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => help.count()).toBe(0)
  })

  it('a filter that follows another one before the page is drawn keeps both', async () => {
    const page = await openPage(browser, await shop(), 'tasks?q=always')
    await page.getByText('1 of 3 tasks').waitFor()
    await page.evaluate(`for (const [field, value, event] of [
      ['[type=search]', '', 'input'],
      ['select:has(option[value=failing])', 'failing', 'change'],
    ]) {
      const element = document.querySelector(field)
      element.value = value
      element.dispatchEvent(new Event(event, { bubbles: true }))
    }`)
    await expect.poll(() => new URL(page.url()).search).toBe('?state=failing')
  })

  it('the way through a page goes by what can be used, each of which shows that it is there', async () => {
    const page = await openPage(browser, await shop(), 'tasks')
    await page.getByText('3 tasks').waitFor()
    const seen: string[] = []
    while (!seen.includes('always_fails')) {
      expect(seen.length, String(seen)).toBeLessThan(60)
      await page.keyboard.press('Tab')
      seen.push(String(await page.evaluate(`${focused} || document.activeElement.tagName`)))
      const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
      expect([seen.at(-1), outline]).toEqual([seen.at(-1), 'solid'])
    }
    expect(seen[0]).toBe('Skip to content')
    expect(seen.slice(1, 6)).toEqual([`pshub ${fixture.namespace}`, 'Overview', 'Tasks', 'Workers', 'Queues'])
    await page.getByRole('link', { name: 'always_fails' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'always_fails:1.0' }).waitFor()
  })
})

describe('the palette', () => {
  it('leads to tasks, queues, workers and pages by the keyboard alone, from wherever one is', async () => {
    const page = await openPage(browser, await shop(), 'jobs')
    await title(page, 'Jobs')
    // Also while somebody types, and where single keys are off.
    await page.getByRole('searchbox').fill('x')
    await open(page)
    await expect.poll(() => page.evaluate('document.activeElement.matches("[role=combobox]")')).toBe(true)
    await expect.poll(() => chosen(page)).toBe('Overview')
    await page.keyboard.type('resize 2')
    await option(page, 'resize_image:2.0').waitFor()
    await expect.poll(() => chosen(page)).toContain('resize_image:2.0')
    const described = await field(page).getAttribute('aria-activedescendant')
    await expect.poll(() => page.locator(`#${described}`).getAttribute('aria-selected')).toBe('true')
    await page.keyboard.press('Enter')
    await title(page, 'resize_image:2.0')
    await expect.poll(() => field(page).count()).toBe(0)
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
    await page.keyboard.press('Control+k')
    await expect.poll(() => field(page).count()).toBe(0)
    await page.getByRole('button', { name: 'Search', exact: true }).click()
    await field(page).waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => field(page).count()).toBe(0)
  })

  it('finds a saved filter, which is gone once it is removed or one logs out', async () => {
    browser.allow(/status of 401/)
    const registry = await shop()
    const page = await openPage(browser, registry, 'tasks', { colorScheme: 'light' })
    await page.getByText('3 tasks').waitFor()
    await expect.poll(() => page.getByRole('button', { name: /filter/ }).count()).toBe(0)
    await page.getByRole('searchbox').fill('always')
    await page.getByRole('button', { name: 'Save this filter' }).click()
    await page.getByLabel('Name').fill('  what fails <i>  ')
    await page.getByRole('button', { name: 'Save filter' }).click()
    await page.getByRole('button', { name: 'Saved filters (1)' }).waitFor()
    await page.goto(registry.at('queues'))
    await title(page, 'Queues')
    await expect.poll(() => page.getByRole('button', { name: /filter/ }).count()).toBe(0)
    await open(page)
    await page.keyboard.type('what fails')
    await expect.poll(() => chosen(page)).toBe('what fails <i> Tasks')
    await page.keyboard.press('Enter')
    await page.getByText('1 of 3 tasks').waitFor()
    await expect.poll(() => new URL(page.url()).search).toBe('?q=always')
    await page.getByRole('button', { name: 'Saved filters (1)' }).click()
    const dialog = page.getByRole('dialog', { name: 'Saved filters of Tasks' })
    await dialog.getByRole('link', { name: 'what fails <i>' }).waitFor()
    await dialog.getByRole('button', { name: 'Remove what fails <i>' }).click()
    await dialog.getByLabel('Name').fill('again')
    await dialog.getByRole('button', { name: 'Save filter' }).click()
    await page.getByRole('button', { name: 'Saved filters (1)' }).waitFor()
    const kept = () =>
      page.evaluate<string[]>('Object.keys(localStorage).filter(name => name.startsWith("pshub-filters"))')
    await expect.poll(() => kept()).toHaveLength(1)
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByLabel('Token').waitFor()
    await expect.poll(() => kept()).toEqual([])
  })
})
