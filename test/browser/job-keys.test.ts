import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { defineTask, type Hub, type Worker } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { eventually } from '../support/hub-fixture.ts'
import { dialog, heading } from '../support/office-fixture.ts'
import { openPage, rowText, textOf } from '../support/pages-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { type TestRegistry, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()
const keys = () => queueKeys(fixture, 'shop')

interface Shop {
  registry: TestRegistry
  hub: Hub
  worker: Worker
  /** Ends the run of what `hangs:1.0` runs. */
  end(): void
}

/** Tasks with keys: one whose payloads are refused, one that runs until it is told to end, and one of lines. */
const shop = async (): Promise<Shop> => {
  fixture.allowLeftovers()
  const registry = await fixture.registry()
  let end: () => void = () => undefined
  const tasks = [
    defineTask('sync:1.0', { keyed: 'merged', retries: 3, backoff: 3_600_000 }, () => {
      throw new Error('the shop is closed')
    }),
    defineTask('hangs:1.0', { keyed: 'merged' }, () => new Promise<void>(resolve => (end = resolve))),
  ]
  const worker = await fixture.worker(tasks, { queue: 'shop', slots: 4 })
  return { registry, hub: fixture.hub(), worker, end: () => end() }
}
const later = (task: string, key: string) =>
  eventually(async () => (await fixture.redis.zscore(keys().later, `${task} ${key}`)) !== null)
const act = async (page: Page, name: string, verb: string | RegExp) => {
  await page.getByRole('button', { name: new RegExp(`^${name} `) }).click()
  await dialog(page).getByRole('button', { name: verb }).click()
  await expect.poll(() => dialog(page).count()).toBe(0)
}
const facts = (page: Page) => textOf(page.locator('.facts'))
const region = (page: Page, name: string) => textOf(page.getByRole('region', { name }))

describe('the page of a key', () => {
  it('is found from the jobs, and says what waits of it, how it failed and what is dead', async () => {
    const { registry, hub } = await shop()
    for (const score of [1, 2, 3]) await hub.enqueue('sync:1.0', { version: score }, { key: 'order-17', score })
    await later('sync:1.0', 'order-17')
    const page = await openPage(browser, registry, 'jobs?state=waiting')
    await expect.poll(() => rowText(page, 'order-17')).toMatch(/^sync:1\.0 3 payloads key order-17 shop/)
    await page.getByRole('link', { name: 'order-17' }).click()
    await heading(page, 'Key order-17')
    await expect.poll(() => facts(page)).toMatch(/Task sync:1\.0 Queue shop Waiting 3 Due .* \(in .*\) Failed once/)
    await expect
      .poll(() => region(page, 'Payloads'))
      .toMatch(/score payload 1 \{"version":1\} 2 \{"version":2\} 3 \{"version":3\}$/)
    await expect.poll(() => region(page, 'Tries that failed')).toContain('TaskFailed the shop is closed')
    await act(page, 'Skip', 'Skip it')
    await page.getByText('Skipped; it is dead now.').waitFor()
    await expect.poll(() => region(page, 'Dead')).toMatch(/2 1 Skipped It was skipped by hand \{"version":1\}$/)
    await later('sync:1.0', 'order-17')
    await act(page, 'Retry dead', 'Retry them')
    await page.getByText('1 dead job retried.').waitFor()
    await expect.poll(() => facts(page)).toContain('Waiting 3')
    await later('sync:1.0', 'order-17')
    await act(page, 'Run now', 'Run it now')
    await page.getByText('Due now.').waitFor()
    await expect.poll(() => facts(page)).toContain('Failed 2 times')
    await act(page, 'Delete', 'Delete 3 payloads')
    await page.getByText('3 deleted.').waitFor()
    await page.getByText('Nothing waits or runs.').waitFor()
    await expect.poll(() => fixture.redis.zcard(keys().merged('sync:1.0', 'order-17'))).toBe(0)
  })

  it('says who runs it, and offers nothing that cannot be done', async () => {
    const { registry, hub, worker, end } = await shop()
    await hub.enqueue('hangs:1.0', 1, { key: 'a' })
    await eventually(() => worker.busy === 1)
    const page = await openPage(browser, registry, 'key?task=hangs:1.0&key=a')
    await expect.poll(() => facts(page)).toMatch(/Waiting 0 Runs since .* Worker \S+ Fence \d{16} Run m-\d{16} Failed/)
    await page.getByText('Nothing waits behind the running job.').waitFor()
    await hub.enqueue('hangs:1.0', 2, { key: 'a' })
    await page.getByRole('button', { name: /^Delete / }).waitFor()
    await expect.poll(() => page.getByRole('button', { name: /^Skip / }).count()).toBe(0)
    await page.getByRole('link', { name: /^m-\d+$/ }).click()
    await heading(page, /^Job m-/)
    const looker = await openPage(browser, registry, 'key?task=hangs:1.0&key=a', { role: 'view' })
    const button = looker.getByRole('button', { name: /^Delete a: This needs the role admin/ })
    await button.click({ force: true })
    await expect.poll(() => dialog(looker).count()).toBe(0)
    end()
    await eventually(() => worker.busy === 1)
    end()
  })
})
