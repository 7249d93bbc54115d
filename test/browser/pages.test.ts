import { expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { failure } from '../support/hub-fixture.ts'
import { openPage, rowText, shopTasks, textOf } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()

/** A registry with a worker that has done something. */
const shop = async (options = {}) => {
  const registry = await fixture.registry(options)
  const worker = await fixture.worker(shopTasks(), { queue: 'images' })
  const hub = fixture.hub({ name: 'web' })
  await Promise.all(Array.from({ length: 20 }, () => hub.call('resize_image:1.0', { width: 3 })))
  await failure(hub.call('always_fails:1.0', {}))
  return { registry, worker }
}

it('the overview tells of health at a glance, in the environment it names, and leads to what is wrong', async () => {
  const { registry } = await shop({ environment: 'production' })
  const page = await openPage(browser, registry, '', { colorScheme: 'light' })
  await page.locator('header').getByText('production', { exact: true }).waitFor()
  await expect.poll(() => page.title()).toContain('production · Overview · pshub')
  const colour = 'getComputedStyle(document.querySelector(".environment")).backgroundColor'
  await expect.poll(() => page.evaluate(colour)).toBe('rgb(173, 34, 22)')
  await page
    .getByRole('link', { name: /Errors.*of the calls of the last minute failed, most of them TaskFailed/ })
    .click()
  await page.getByText('1 of 3 tasks').waitFor()
  await expect.poll(() => new URL(page.url()).search).toBe('?sort=-errors&state=failing')
  await page.goBack()
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  await expect
    .poll(() => textOf(page.locator('.tiles')))
    .toMatch(/^Calls per second [\d.]+ last minute Errors 4\.8 % of calls /)
  await page.getByRole('img', { name: /^Calls per second\. calls: now/ }).waitFor()
  await page.getByRole('img', { name: /^Slots busy\. share of time: now/ }).hover()
  await expect.poll(() => page.locator('.chart-at').last().textContent()).toMatch(/^\d\d:\d\d:\d\d {2}/)
  await page.getByRole('link', { name: '30 days' }).click()
  await page.getByRole('heading', { name: 'Last 30 days' }).waitFor()
  await expect.poll(() => page.url()).toContain('range=30d')
  // A time of day alone would say little about a month.
  await page.getByRole('img', { name: /^Slots busy\. share of time: now/ }).hover()
  await expect.poll(() => page.locator('.chart-at').last().textContent()).toMatch(/^\d\d-\d\d \d\d:\d\d {2}/)
})

it('a task shows its docs as harmless text, its facts, schemas, versions, charts, workers and failures', async () => {
  const page = await openPage(browser, (await shop()).registry, 'tasks/resize_image:1.0')
  const link = page.getByRole('link', { name: 'proportions' })
  await link.waitFor()
  await expect.poll(() => link.getAttribute('rel')).toBe('noopener noreferrer nofollow')
  await expect.poll(() => page.getByRole('link', { name: 'enlarges' }).count()).toBe(0)
  await expect
    .poll(() => page.getByRole('link', { name: 'drawing' }).getAttribute('href'))
    .toBe('https://example.org/x.png')
  await expect.poll(() => page.locator('.markdown img').count()).toBe(0)
  await page.getByText('<img src=x onerror=document.title=1>').waitFor()
  await expect
    .poll(() => textOf(page.locator('.facts')))
    .toMatch(
      /Queue images Timeout 2\.5 s Idempotent yes Workers 1 worker on 1 host Served since .* Other versions 2\.0$/,
    )
  const part = (name: string) =>
    page.getByRole('navigation', { name: 'Parts of this page' }).getByRole('link', { name }).click()
  await part('Schema')
  await page.getByText('"Pixels."').waitFor()
  await part('Versions')
  await page.getByRole('table').getByRole('link', { name: '2.0' }).waitFor()
  await part('Charts')
  await page.getByRole('img', { name: /^Run time\. p95: / }).waitFor()
  await part('Workers')
  await page.getByRole('row', { name: new RegExp(`pid ${process.pid}`) }).waitFor()
  await page.goto(page.url().replace('resize_image:1.0', 'always_fails:1.0').replace('part=workers', 'part=failures'))
  await page.getByRole('heading', { name: 'always_fails:1.0' }).waitFor()
  await expect.poll(() => rowText(page, 'TaskFailed')).toContain('the printer is on fire')
  await expect.poll(() => page.title()).toContain('always_fails:1.0')
})

it('workers are listed by host, and the page of one says what it is, provides and did, also once it has left', async () => {
  const { registry, worker } = await shop()
  const page = await openPage(browser, registry, 'workers')
  const row = page.getByRole('row', { name: new RegExp(`pid ${process.pid}`) })
  await expect.poll(() => textOf(row)).toMatch(/^pid \d+ pshub-js\S+ serving images 0\/\d+ /)
  await row.getByRole('button', { name: '3 tasks' }).click()
  await page.getByRole('link', { name: 'always_fails:1.0' }).waitFor()
  await page.getByRole('link', { name: `pid ${process.pid}` }).click()
  await page.getByRole('heading', { name: `Worker ${worker.id}`, level: 1 }).waitFor()
  await expect.poll(() => page.evaluate('document.activeElement.tagName')).toBe('H1')
  const what = `^Client TypeScript or JavaScript, pshub \\S+ Host \\S+ Process pid ${process.pid} Queue images Started`
  await expect.poll(() => textOf(page.locator('.facts'))).toMatch(new RegExp(what))
  await expect
    .poll(() => rowText(page, 'resize_image:1.0'))
    .toMatch(/^resize_image:1\.0 [\d.]+\/s [\d.]+ .s [\d.]+ .s [\d.]+ .s 0 % 20 0 0$/)
  await expect.poll(() => rowText(page, 'TaskFailed 1')).toMatch(/^always_fails:1\.0 TaskFailed 1 .* 100 % 0 0 1$/)
  await expect.poll(() => rowText(page, 'resize_image:2.0')).toBe('resize_image:2.0 – – – – – – – –')
  const failures = page.getByRole('region', { name: 'Last failures' })
  await expect.poll(() => textOf(failures.getByRole('row').nth(1))).toContain('the printer is on fire 1')
  browser.allow(/status of 404/)
  await worker.stop()
  await page.getByText('The worker is gone; this is its last known state.').waitFor()
})

it('a queue shows its tasks, workers and backlog; the page asks before it pauses it, and shows a refusal', async () => {
  browser.allow(/status of 409/)
  const { registry } = await shop()
  const viewer = await openPage(browser, registry, 'queues', { role: 'view' })
  const forbidden = viewer.getByRole('button', { name: 'Pause images: This needs the role admin; yours is view.' })
  await forbidden.click({ force: true })
  await expect.poll(() => forbidden.getAttribute('aria-disabled')).toBe('true')
  await expect.poll(() => viewer.getByRole('dialog').count()).toBe(0)
  const page = await openPage(browser, registry, 'queues/images')
  await page.getByRole('heading', { name: '3 tasks' }).waitFor()
  await page.getByRole('heading', { name: '1 worker' }).waitFor()
  await page.getByRole('img', { name: /^Backlog\. waiting: now 0/ }).waitFor()
  await page.route('**/api/queues/images/pause', route =>
    route.fulfill({ status: 409, json: { code: 'BadRequest', detail: 'Not \u202enow.' } }),
  )
  await page.getByRole('button', { name: 'Pause images' }).click()
  const dialog = page.getByRole('dialog', { name: 'Pause images?' })
  await dialog.getByRole('button', { name: 'Pause the queue' }).click()
  await dialog.getByRole('alert').getByText('Not \\u202enow.').waitFor()
  await page.keyboard.press('Escape')
  await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Pause')
  await page.unroute('**/api/queues/images/pause')
  await page.getByRole('button', { name: 'Pause images' }).click()
  await dialog.getByRole('button', { name: 'Pause the queue' }).click()
  await page.goto(registry.at('tasks/always_fails:1.0'))
  await page.getByText(/It is paused: its workers claim nothing\. Nothing waits\. If you resume it/).waitFor()
  await page.getByRole('button', { name: /^Run/ }).click()
  await page.getByText(/Queue images is paused: no worker would claim the call\./).waitFor()
  await fixture.hub().resume('images')
  await page.getByText(/It is paused/).waitFor({ state: 'detached' })
})
