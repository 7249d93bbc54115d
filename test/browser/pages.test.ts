import { describe, expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { failure } from '../support/hub-fixture.ts'
import { openPage, rowText, shopTasks, textOf } from '../support/pages-fixture.ts'
import { tokens, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()

/** A registry with a worker that has done something. */
const shop = async () => {
  const registry = await fixture.registry()
  await fixture.worker(shopTasks(), { queue: 'images' })
  const hub = fixture.hub({ name: 'web' })
  await Promise.all(Array.from({ length: 20 }, () => hub.call('resize_image:1.0', { width: 3 })))
  await failure(hub.call('always_fails:1.0', {}))
  return registry
}

describe('the pages, with a live worker', () => {
  it('tell of health in one glance, and lead to what is meant', async () => {
    const page = await openPage(browser, await shop(), '')
    await page
      .getByRole('link', { name: /Errors.*of the calls of the last minute failed, most of them TaskFailed/ })
      .click()
    expect(new URL(page.url()).search).toBe('?sort=-errors&state=failing')
    await page.getByText('1 of 3 tasks').waitFor()
    expect(await page.title()).toContain('Tasks · pshub')
    await page.goBack()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(await textOf(page.locator('.tiles'))).toMatch(/^Calls per second [\d.]+ last minute Errors 4\.8 % of calls /)
    await page.getByRole('img', { name: /^Calls per second\. calls: now/ }).waitFor()
    await page.getByRole('img', { name: /^Slots busy\. share of time: now/ }).hover()
    await expect.poll(() => page.locator('.chart-at').last().textContent()).toMatch(/^\d\d:\d\d:\d\d {2}/)
    await page.getByRole('link', { name: '1 day' }).click()
    await page.getByRole('heading', { name: 'Last day' }).waitFor()
    expect(page.url()).toContain('range=1d')
    await browser.screenshot(page, 'pages-overview')
    for (const [choice, title, range] of [
      ['1 hour', 'Last hour', '1h'],
      ['30 days', 'Last 30 days', '30d'],
    ] as const) {
      await page.getByRole('link', { name: choice }).click()
      await page.getByRole('heading', { name: title }).waitFor()
      expect(page.url()).toContain(`range=${range}`)
      await page.getByRole('img', { name: /^Calls per second\. calls: now/ }).waitFor()
    }
  })

  it('list tasks with their figures, to be searched, filtered and sorted by the address', async () => {
    const page = await openPage(browser, await shop(), 'tasks')
    await expect.poll(() => rowText(page, /always_fails/)).toMatch(/always_fails Fails\. 1\.0 images 1 on 1 .*100 % 0$/)
    await page.getByRole('link', { name: 'errors' }).click()
    await expect.poll(() => textOf(page.getByRole('row').nth(1))).toContain('always_fails')
    expect(await page.getByRole('columnheader', { name: 'errors' }).getAttribute('aria-sort')).toBe('descending')
    await page.getByRole('searchbox').fill('resize images')
    await page.getByText('2 of 3 tasks').waitFor()
    await page.getByLabel('Times').selectOption('wait')
    await page.getByRole('columnheader', { name: 'wait p95' }).waitFor()
    expect(new URL(page.url()).search).toBe('?q=resize+images&sort=-errors&times=wait')
    await page.reload()
    await page.getByText('2 of 3 tasks').waitFor()
    expect(await page.getByRole('searchbox').inputValue()).toBe('resize images')
    await page.getByRole('searchbox').fill('zebra')
    await page.getByRole('link', { name: 'Show all tasks' }).click()
    await page.getByText('3 tasks').waitFor()
    await browser.screenshot(page, 'pages-tasks')
  })

  it('show a task: its docs as harmless text, facts, schemas, versions, charts, workers, failures', async () => {
    const page = await openPage(browser, await shop(), 'tasks/resize_image:1.0')
    await page.getByRole('link', { name: 'proportions' }).waitFor()
    const link = page.getByRole('link', { name: 'proportions' })
    expect(await link.getAttribute('rel')).toBe('noopener noreferrer nofollow')
    expect(await page.getByRole('link', { name: 'enlarges' }).count()).toBe(0)
    expect(await page.getByRole('link', { name: 'drawing' }).getAttribute('href')).toBe('https://example.org/x.png')
    expect(await page.locator('.markdown img').count()).toBe(0)
    await page.getByText('<img src=x onerror=document.title=1>').waitFor()
    expect(await textOf(page.locator('.facts'))).toMatch(
      /Queue images Timeout 2\.5 s Idempotent yes Workers 1 worker on 1 host Served since .* Other versions 2\.0$/,
    )
    const parts = page.getByRole('navigation', { name: 'Parts of this page' })
    await parts.getByRole('link', { name: 'Schema' }).click()
    await page.getByText('"Pixels."').waitFor()
    await parts.getByRole('link', { name: 'Versions' }).click()
    await page.getByRole('table').getByRole('link', { name: '2.0' }).waitFor()
    await parts.getByRole('link', { name: 'Charts' }).click()
    await page.getByRole('img', { name: /^Run time\. p95: / }).waitFor()
    await parts.getByRole('link', { name: 'Workers' }).click()
    await page.getByRole('row', { name: new RegExp(`pid ${process.pid}`) }).waitFor()
    await page.goto(page.url().replace('resize_image:1.0', 'always_fails:1.0').replace('part=workers', 'part=failures'))
    await page.getByRole('heading', { name: 'always_fails:1.0' }).waitFor()
    await page.getByRole('heading', { name: 'Recent failures' }).waitFor()
    await page.getByText('TaskFailed').first().waitFor()
    await browser.screenshot(page, 'pages-task')
  })

  it('show who calls a task and how it failed, as text', async () => {
    const page = await openPage(browser, await shop(), '')
    await page.route('**/api/tasks/always_fails*', async route => {
      const response = await route.fetch()
      const callers = [
        { name: '<b>web', calls: 1200, callsPerSecond: 2 },
        { name: '', calls: 1, callsPerSecond: 0 },
      ]
      const failure = {
        id: 'x',
        at: Date.now() * 1000,
        code: 'TaskFailed',
        execUs: 1500,
        worker: 'w',
        host: 'h',
        pid: 7,
      }
      const failures = [{ ...failure, message: `<script>document.title='ran'</script>\u202e${'m'.repeat(300)}` }]
      await route.fulfill({ response, json: { ...(await response.json()), callers, failures } })
    })
    await page.getByRole('link', { name: 'always_fails:1.0' }).first().click()
    const parts = page.getByRole('navigation', { name: 'Parts of this page' })
    await parts.getByRole('link', { name: 'Workers' }).click()
    await expect.poll(() => rowText(page, '<b>web')).toBe('<b>web 2/s 1,200')
    await parts.getByRole('link', { name: 'Failures' }).click()
    await expect
      .poll(() => rowText(page, '<script>'))
      .toMatch(/^.* TaskFailed <script>document.title='ran'<\/script>\\u202em+ 1 1\.5 ms x – h pid 7$/)
    expect(await page.title()).toContain('always_fails:1.0')
    await browser.screenshot(page, 'pages-failures')
  })

  it('show workers by host, with what they do and the tasks they have', async () => {
    const page = await openPage(browser, await shop(), 'workers')
    await page.getByText('serving', { exact: true }).waitFor()
    const row = page.getByRole('row', { name: new RegExp(`pid ${process.pid}`) })
    expect(await textOf(row)).toMatch(/^pid \d+ pshub-js\S+ serving images 0\/\d+ /)
    await row.getByRole('button', { name: '3 tasks' }).click()
    await page.getByRole('link', { name: 'always_fails:1.0' }).waitFor()
    await browser.screenshot(page, 'pages-workers')
    await page.getByRole('link', { name: 'always_fails:1.0' }).click()
    await page.getByRole('heading', { name: 'always_fails:1.0' }).waitFor()
    expect(await page.evaluate('document.activeElement.tagName')).toBe('H1')
  })

  it('show queues and one queue, and who may not pause it learns why', async () => {
    const registry = await shop()
    const page = await openPage(browser, registry, 'queues', { role: 'view' })
    await page.getByRole('link', { name: 'images' }).waitFor()
    const pause = page.getByRole('button', { name: 'Pause images: This needs the role admin; yours is view.' })
    expect(await pause.getAttribute('aria-disabled')).toBe('true')
    await pause.click({ force: true })
    expect(await page.getByRole('dialog').count()).toBe(0)
    await browser.screenshot(page, 'pages-queues')
    await page.getByRole('link', { name: 'images' }).click()
    await page.getByRole('heading', { name: '3 tasks' }).waitFor()
    await page.getByRole('heading', { name: '1 worker' }).waitFor()
    await page.getByRole('img', { name: /^Backlog\. waiting: now 0/ }).waitFor()
    await browser.screenshot(page, 'pages-queue')
  })

  it('ask before a queue is paused, and show what the service says to it', async () => {
    browser.allow(/status of 409/)
    const page = await openPage(browser, await shop(), 'queues/images')
    await page.route('**/api/queues/images/pause', route =>
      route.fulfill({ status: 409, json: { error: { code: 'BadRequest', message: 'Not \u202enow.' } } }),
    )
    await page.getByRole('button', { name: 'Pause images' }).click()
    const dialog = page.getByRole('dialog', { name: 'Pause images?' })
    await dialog.getByRole('button', { name: 'Pause the queue' }).click()
    await dialog.getByRole('alert').getByText('Not \\u202enow.').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => page.getByRole('dialog').count()).toBe(0)
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Pause')
  })
})

describe('who comes without a token', () => {
  it('logs in on the spot, and out again', async () => {
    browser.allow(/status of 401/)
    const registry = await shop()
    const page = await browser.page()
    await page.goto(registry.at('tasks?q=resize'))
    await page.getByLabel('Token').fill('not the right one')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('alert').getByText('This token is not valid.').waitFor()
    await browser.screenshot(page, 'pages-login')
    await page.getByLabel('Token').fill(tokens.view)
    await page.keyboard.press('Enter')
    await page.getByText('2 of 3 tasks').waitFor()
    expect(await textOf(page.locator('.who'))).toContain('view')
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByLabel('Token').waitFor()
    await page.reload()
    await page.getByLabel('Token').waitFor()
  })

  it('is let in by a link with a token, also where the page is open already', async () => {
    browser.allow(/status of 401/)
    const registry = await shop()
    const page = await browser.page()
    const follow = (token: string) => page.evaluate(`location.href = '#token=' + encodeURIComponent('${token}')`)
    await page.goto(registry.at('tasks'))
    await page.getByLabel('Token').waitFor()
    await follow(tokens.view)
    await page.getByText('3 tasks').waitFor()
    expect(await textOf(page.locator('.who'))).toContain('view')
    await follow(tokens.admin)
    await expect.poll(() => textOf(page.locator('.who'))).toContain('admin')
    expect(page.url()).not.toContain('#')
  })

  it('leaves no token in the address or the history', async () => {
    const page = await openPage(browser, await shop(), 'tasks')
    await page.getByText('3 tasks').waitFor()
    expect(page.url()).not.toContain('#')
    expect(
      await page.evaluate('performance.getEntriesByType("navigation").length + history.length'),
    ).toBeLessThanOrEqual(3)
  })

  it('is told that a registry is read-only', async () => {
    const registry = await fixture.registry({ readOnly: true })
    await fixture.worker(shopTasks(), { queue: 'images' })
    const page = await openPage(browser, registry, 'queues')
    await page.getByRole('button', { name: 'Pause images: This registry is read-only.' }).waitFor()
    expect(await textOf(page.locator('.who'))).toContain('read-only')
  })
})
