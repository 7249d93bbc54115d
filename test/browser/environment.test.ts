import { describe, expect, it } from 'vitest'
import { violationsOn } from '../support/axe.ts'
import { useBrowser } from '../support/browser.ts'
import { look, openPage, shopTasks } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()

describe('the environment', () => {
  it.each([
    ['production', 'production', 'rgb(173, 34, 22)'],
    ['staging of the north:green', 'staging of the north', 'rgb(23, 108, 48)'],
    ['demo', 'demo', 'rgb(26, 93, 168)'],
  ])('%s is named in its colour on each page, and in its title', async (environment, name, colour) => {
    const registry = await fixture.registry({ environment })
    await fixture.worker(shopTasks(), { queue: 'images' })
    const page = await openPage(browser, registry, 'tasks', { colorScheme: 'light' })
    const shown = page.locator('header').getByText(name, { exact: true })
    await shown.waitFor()
    expect(await page.evaluate("getComputedStyle(document.querySelector('.environment')).backgroundColor")).toBe(colour)
    await expect.poll(() => page.title()).toContain(`${name} · Tasks · pshub`)
    if (environment === 'production') {
      await look(browser, page, 'environment')
      expect(await violationsOn(page)).toEqual([])
    }
    await page.goto(registry.at('queues'))
    await shown.waitFor()
  })

  it('is not there where none is set', async () => {
    const page = await openPage(browser, await fixture.registry(), 'tasks')
    await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor()
    expect(await page.locator('.environment').count()).toBe(0)
    expect(await page.title()).toMatch(/^Tasks · pshub/)
  })
})
