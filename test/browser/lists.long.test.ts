import type { Page } from 'playwright-core'
import { describe, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
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
