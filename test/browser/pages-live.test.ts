import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { freePort, startServer } from '../../tools/redis-server.mjs'
import { useBrowser } from '../support/browser.ts'
import { openPage, rowText, shopTasks, textOf } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()

describe('what is live', () => {
  it('shows a worker that starts and one that leaves, without anybody doing anything', async () => {
    const page = await openPage(browser, await fixture.registry(), 'workers')
    await page.getByText('No worker has declared a task yet.').waitFor()
    await page.getByText('pshub worker ./tasks.mjs --queue default').waitFor()
    await browser.screenshot(page, 'pages-empty')
    const worker = await fixture.worker(shopTasks(), { queue: 'images' })
    await page.getByText('1 worker', { exact: true }).waitFor()
    await worker.stop()
    await page.getByText('No worker has declared a task yet.').waitFor()
  })

  it('opens the page of a task whose worker starts only then', async () => {
    browser.allow(/status of 404/)
    const registry = await fixture.registry()
    await fixture.worker(shopTasks(), { queue: 'images' })
    const page = await openPage(browser, registry, 'tasks/resize_imag:9.0')
    await page.getByText('The registry knows no such task.').waitFor()
    await page.getByRole('link', { name: 'resize_image:2.0' }).waitFor()
    await browser.screenshot(page, 'pages-unknown-task')
    await page.goto(registry.at('tasks/late:1.0'))
    await fixture.worker([defineTask('late:1.0', {}, async () => null)])
    await page.getByRole('navigation', { name: 'Parts of this page' }).waitFor()
  })

  it('stands still while it is paused, says so, and goes on', async () => {
    const page = await openPage(browser, await fixture.registry(), 'tasks')
    await page.getByText('No worker has declared a task yet.').waitFor()
    await page.getByRole('button', { name: 'Freeze page' }).click()
    await page.getByText('Frozen', { exact: true }).waitFor()
    await fixture.worker(shopTasks(), { queue: 'images' })
    // Its age goes on being told: so time passes, and the page would have heard of the worker.
    await page.getByText(/^[3-9] s ago$/).waitFor()
    expect(await page.getByText('3 tasks').count()).toBe(0)
    await page.keyboard.press('p')
    await page.getByText('3 tasks').waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
  })

  it('does nothing by a single key once these are switched off, also after a reload', async () => {
    const page = await openPage(browser, await fixture.registry(), 'tasks')
    await page.getByText('Live', { exact: true }).waitFor()
    await page.keyboard.press('?')
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('checkbox').uncheck()
    await browser.screenshot(page, 'pages-keys-help')
    await dialog.getByRole('button', { name: 'Close' }).click()
    await page.reload()
    await page.getByText('Live', { exact: true }).waitFor()
    await page.keyboard.press('p')
    await page.keyboard.press('?')
    expect(await dialog.count()).toBe(0)
    expect(await page.getByText('Frozen', { exact: true }).count()).toBe(0)
    await page.getByRole('button', { name: 'Keys' }).click()
    await dialog.getByRole('checkbox').check()
    await dialog.getByRole('button', { name: 'Close' }).click()
    await page.keyboard.press('p')
    await page.getByText('Frozen', { exact: true }).waitFor()
  })

  it('stops while nobody sees the page', async () => {
    const page = await openPage(browser, await fixture.registry(), 'tasks')
    await page.getByText('Live', { exact: true }).waitFor()
    const ended = page.waitForEvent('requestfailed', request => request.url().includes('/api/live'))
    const hide = (hidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))`)
    await hide(true)
    await ended
    await page.getByText('Frozen while hidden').waitFor()
    await hide(false)
    await page.getByText('Live', { exact: true }).waitFor()
  })

  it('says that the connection is lost, and comes back by itself', async () => {
    browser.allow(
      /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_EMPTY_RESPONSE|ERR_CONNECTION_RESET|status of 401/,
    )
    const port = await freePort()
    const first = await fixture.registry({ port: Number(port) })
    await fixture.worker(shopTasks(), { queue: 'images' })
    const page = await openPage(browser, first, 'tasks')
    await page.getByText('3 tasks').waitFor()
    await first.close()
    const banner = page.getByRole('alert')
    await banner.getByText('Connection lost.').waitFor()
    expect(await textOf(banner)).toMatch(
      /The registry cannot be reached\. What is shown was read .* It goes on by itself\. ?Try now$/,
    )
    expect(await rowText(page, /always_fails/)).toContain('always_fails')
    await browser.screenshot(page, 'pages-lost')
    const second = await fixture.registry({ port: Number(port) })
    await page.getByText('Live', { exact: true }).waitFor({ timeout: 30_000 })
    expect(await banner.count()).toBe(0)
    await second.close()
  })

  it('says that Redis is away, and why', async () => {
    // Who is logged in is in Redis, too.
    const args = ['--appendonly', 'yes']
    const server = await startServer({ args })
    fixture.onEnd(() => server.stop())
    const hub = { redis: server.url, namespace: fixture.namespace, logLevel: 'silent' as const }
    const page = await openPage(browser, await fixture.registry({ hub }), 'queues')
    await page.getByText('Live', { exact: true }).waitFor()
    await server.stop({ keepDir: true })
    await page.getByText('Redis away').waitFor({ timeout: 30_000 })
    await page.getByRole('alert').getByText('The registry cannot be read.').waitFor()
    await browser.screenshot(page, 'pages-blind')
    const again = await startServer({ port: server.port, dir: server.dir, args })
    fixture.onEnd(() => again.stop())
    await page.getByText('Live', { exact: true }).waitFor({ timeout: 30_000 })
  })
}, 60_000)
