import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { openPage, rowText, shopTasks, textOf } from '../support/pages-fixture.ts'
import { clientOf, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()

/** A way to a port that can be cut: who comes meanwhile is turned away at once. */
const breakable = async (port: number) => {
  const open = new Set<Socket>()
  let isCut = false
  const server = createServer(socket => {
    if (isCut) return socket.destroy()
    const other = connect(port, '127.0.0.1')
    for (const [one, its] of [
      [socket, other],
      [other, socket],
    ] as const) {
      open.add(one)
      one.on('error', () => undefined).on('close', () => open.delete(one) && its.destroy())
      one.pipe(its)
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const drop = () => {
    for (const socket of open) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    cut: () => {
      isCut = true
      drop()
    },
    mend: () => {
      isCut = false
    },
    close: () => {
      drop()
      return new Promise(resolve => server.close(resolve))
    },
  }
}

describe('what is live', () => {
  it('shows a worker that starts and one that leaves, without anybody doing anything', async () => {
    const page = await openPage(browser, await fixture.registry(), 'workers')
    await page.getByText('No worker has declared a task yet.').waitFor()
    await page.getByText('pshub worker ./tasks.mjs --queue default').waitFor()
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
    await page.goto(registry.at('tasks/very/late:1.0'))
    await fixture.worker([defineTask('very/late:1.0', {}, async () => null)])
    await page.getByRole('navigation', { name: 'Parts of this page' }).waitFor()
  })

  it('stands still while it is paused, says so, and goes on', async () => {
    const registry = await fixture.registry()
    const page = await openPage(browser, registry, 'tasks')
    await page.getByText('No worker has declared a task yet.').waitFor()
    await page.getByRole('button', { name: 'Freeze page' }).click()
    await page.getByText('Frozen', { exact: true }).waitFor()
    await fixture.worker(shopTasks(), { queue: 'images' })
    const other = await openPage(browser, registry, 'tasks')
    await other.getByText('3 tasks').waitFor()
    await expect.poll(() => page.getByText('3 tasks').count()).toBe(0)
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
    await dialog.getByRole('button', { name: 'Close' }).click()
    await page.reload()
    await page.getByText('Live', { exact: true }).waitFor()
    await page.keyboard.press('p')
    await page.keyboard.press('?')
    await expect.poll(() => dialog.count()).toBe(0)
    await expect.poll(() => page.getByText('Frozen', { exact: true }).count()).toBe(0)
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
    browser.allow(/ERR_|status of 401/)
    const registry = await fixture.registry()
    await fixture.worker(shopTasks(), { queue: 'images' })
    const link = await breakable(Number(new URL(registry.url).port))
    fixture.onEnd(() => link.close())
    const page = await openPage(browser, clientOf({ ...registry, url: link.url }), 'tasks')
    await page.getByText('3 tasks').waitFor()
    link.cut()
    const banner = page.getByRole('alert')
    await banner.getByText('Connection lost.').waitFor()
    await expect
      .poll(() => textOf(banner))
      .toMatch(/The registry cannot be reached\. Last update: .* It reconnects by itself\. ?Try now$/)
    await expect.poll(() => rowText(page, /always_fails/)).toContain('always_fails')
    link.mend()
    await page.getByText('Live', { exact: true }).waitFor()
    await expect.poll(() => banner.count()).toBe(0)
  })
})
