import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { Crowd } from '../support/crowd.ts'
import { openPage, overflows, textOf } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()

/** Told by the page itself: when the first row was there, and how long the loop was blocked since. */
const watching = `
  globalThis.blockedMs = []
  globalThis.firstRowMs = undefined
  new PerformanceObserver(list => blockedMs.push(...list.getEntries().map(({ duration }) => Math.round(duration))))
    .observe({ type: 'longtask', buffered: true })
  new MutationObserver((_, self) => {
    if (!document.querySelector('tbody tr')) return
    firstRowMs = Math.round(performance.now())
    self.disconnect()
  }).observe(document, { childList: true, subtree: true })`

const worked = async (page: Page, crowd: Crowd, look: () => Promise<string>, times: number): Promise<number[]> => {
  await page.evaluate('blockedMs.length = 0')
  for (let time = 0; time < times; time++) {
    const before = await look()
    await crowd.work()
    await expect.poll(look, { timeout: 15_000 }).not.toBe(before)
  }
  return page.evaluate('blockedMs') as Promise<number[]>
}

// Figures are printed to be looked at; the bounds only catch what is broken, on any machine.
describe('1,000 tasks of 200 workers', () => {
  it('are shown soon, and change without a stutter', async () => {
    const crowd = new Crowd(fixture.redis, fixture.namespace, { tasks: 1000, workers: 200, queues: 20, providers: 4 })
    fixture.onEnd(() => crowd.leave())
    await crowd.come()
    const registry = await fixture.registry()
    await registry.get('api/tasks')
    const page = await openPage(browser, registry, 'tasks')
    await page.getByText('1,000 tasks').waitFor()
    await page.addInitScript(watching)
    await page.reload()
    await page.getByText('1,000 tasks').waitFor()
    const firstRowMs = Number(await page.evaluate('firstRowMs'))
    expect(await page.locator('tbody tr').count()).toBe(100)
    const row = () => textOf(page.getByRole('row').filter({ hasText: 'task_0021' }))
    const blocked = await worked(page, crowd, row, 5)
    console.log(
      `tasks: first row ${firstRowMs} ms after the start of the visit; blocked while changing: ${JSON.stringify(blocked)} ms`,
    )
    expect(firstRowMs).toBeLessThan(15_000)
    expect(Math.max(0, ...blocked)).toBeLessThan(2000)
    await browser.screenshot(page, 'pages-crowd-tasks')
    await page.getByRole('link', { name: 'Next' }).click()
    await page.getByText('Page 2 of 10').waitFor()
    expect(page.url()).toContain('page=2')
    await page.getByRole('searchbox').fill('task_0999')
    await page.getByText('1 of 1,000 tasks').waitFor()
    expect(page.url()).not.toContain('page=')

    await page.goto(registry.at('workers'))
    await page.getByText('200 workers').waitFor()
    const worker = () => textOf(page.getByRole('row').filter({ hasText: 'pid 1000' }))
    const blockedByWorkers = await worked(page, crowd, worker, 5)
    console.log(`workers: blocked while changing: ${JSON.stringify(blockedByWorkers)} ms`)
    expect(Math.max(0, ...blockedByWorkers)).toBeLessThan(2000)
    expect(await overflows(page)).toBe(false)
    await browser.screenshot(page, 'pages-crowd-workers')
    await page.goto(registry.at(''))
    await page.getByRole('heading', { name: 'Busiest tasks' }).waitFor()
  }, 120_000)
})
