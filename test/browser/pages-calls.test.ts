import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { failingCrowd } from '../support/failing-crowd.ts'
import { failure } from '../support/hub-fixture.ts'
import { look, openPage, rowText, shopTasks, textOf } from '../support/pages-fixture.ts'
import { type TestRegistry, tokens, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()
const patience = { timeout: 20_000 }

/** A worker that failed at two tasks and took its time for a third, and a hub that was told that nobody knows a task. */
const shop = async () => {
  const registry = await fixture.registry()
  const print = defineTask('print:2.1', {}, async args => {
    throw new Error((args as { page: number }).page === 1 ? '=out of paper, "A4"' : 'out of ink')
  })
  const think = defineTask(
    'think:1.0',
    {},
    args => new Promise(resolve => setTimeout(resolve, (args as { ms: number }).ms)),
  )
  const worker = await fixture.worker([...shopTasks(), print, think], { queue: 'images', slots: 1 })
  const hub = fixture.hub({ name: 'web' })
  for (let call = 0; call < 3; call++) await failure(hub.call('always_fails:1.0', {}))
  for (const page of [1, 2]) await failure(hub.call('print:2.1', { page }))
  await failure(hub.call('no_such:1.0', {}))
  // With one slot the second waits in the backlog for as long as the first runs.
  await Promise.all([hub.call('think:1.0', { ms: 300 }), hub.call('think:1.0', { ms: 5 })])
  return { registry, worker, hub }
}

const open = (registry: TestRegistry, path: string) =>
  openPage(browser, registry, path, { viewport: { width: 1300, height: 900 } })

describe('the page of failures', () => {
  it('has those of one cause in one row, which tells of each', async () => {
    const { registry } = await shop()
    const page = await open(registry, '')
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Failures' }).click()
    await expect
      .poll(() => rowText(page, 'printer'), patience)
      .toMatch(/^\S+( s)?( ago)? always_fails:1\.0 TaskFailed the printer is on fire 3 \S+ .s \S+ web \S+ pid \d+$/)
    await expect
      .poll(() => rowText(page, 'no_such'), patience)
      .toMatch(/no_such:1\.0 NoSuchTask by its caller .* 1 1 in the last minute – \S+ web hub on \S+ pid \d+$/)
    expect(await page.getByRole('status').filter({ hasText: 'kind' }).textContent()).toBe('6 failures of 4 kinds')
    const each = page.getByRole('button', { name: '3 times TaskFailed: each of them' })
    expect(await each.getAttribute('aria-expanded')).toBe('false')
    await each.click()
    expect(await each.getAttribute('aria-expanded')).toBe('true')
    const entries = page.locator('tr.entry')
    expect(await entries.count()).toBe(3)
    const ids = await entries.locator('.mono').allTextContents()
    expect(new Set(ids).size).toBe(3)
    expect(ids.every(id => /^[\w-]{16,64}$/.test(id))).toBe(true)
    await look(browser, page, 'failures')
    await page.getByRole('searchbox').fill(ids[2]!)
    await page.getByText('1 failure of 1 kind, out of 6').waitFor()
    await page.getByRole('link', { name: 'always_fails:1.0' }).click()
    await page.getByRole('heading', { name: 'always_fails:1.0' }).waitFor()
  })

  it('is filtered and sorted by its address, back and forth', async () => {
    const { registry } = await shop()
    const page = await open(registry, 'failures')
    const tasks = () => page.locator('tbody td[data-name=task]').allInnerTexts()
    await expect.poll(async () => (await tasks()).length, patience).toBe(4)
    await page.getByRole('combobox', { name: /^Code/ }).selectOption('TaskFailed')
    await expect.poll(tasks).toEqual(['print:2.1', 'print:2.1', 'always_fails:1.0'])
    await page.getByRole('combobox', { name: /^Task/ }).selectOption('print:2.1')
    await expect.poll(tasks).toEqual(['print:2.1', 'print:2.1'])
    expect(new URL(page.url()).search).toBe('?code=TaskFailed&task=print:2.1')
    await page.goBack()
    await expect.poll(async () => (await tasks()).length).toBe(3)
    await page.getByRole('link', { name: 'times' }).click()
    await expect.poll(async () => (await tasks())[0]).toBe('always_fails:1.0')
    expect(await page.getByRole('columnheader', { name: 'times' }).getAttribute('aria-sort')).toBe('descending')
    await page.getByRole('searchbox').fill('zebra')
    await page.getByText('No failure fits.').waitFor()
    await look(browser, page, 'failures-none-fits')
    await page.getByRole('link', { name: 'Show all failures' }).click()
    await expect.poll(async () => (await tasks()).length).toBe(4)
    expect(new URL(page.url()).search).toBe('?sort=-times')
  })

  it('takes nothing away that somebody holds: an opened row, the focus, and what is marked', async () => {
    const { registry, hub } = await shop()
    const page = await browser.page({ viewport: { width: 1300, height: 900 } })
    await page.clock.install()
    await page.goto(`${registry.at('failures')}#token=${tokens.admin}`)
    const tasks = () => page.locator('tbody td[data-name=task]').allInnerTexts()
    await expect.poll(async () => (await tasks()).at(-1), patience).toBe('always_fails:1.0')
    await page.getByRole('button', { name: '3 times TaskFailed: each of them' }).click()
    await page.evaluate("getSelection().selectAllChildren([...document.querySelectorAll('td.message bdi')].at(-1))")
    const marked = () => page.evaluate('getSelection().toString()')
    expect(await marked()).toBe('the printer is on fire')
    await failure(hub.call('always_fails:1.0', {}))
    const asked: string[] = []
    page.on('request', request => asked.push(new URL(request.url()).pathname))
    await page.clock.fastForward(20_000)
    expect([await marked(), asked.filter(path => path.startsWith('/api/failures'))]).toEqual([
      'the printer is on fire',
      [],
    ])
    await page.evaluate('getSelection().removeAllRanges()')
    await page.clock.fastForward(20_000)
    // It moved up, and is open as before.
    await expect.poll(async () => (await tasks())[0], patience).toBe('always_fails:1.0')
    const each = page.getByRole('button', { name: '4 times TaskFailed: each of them' })
    expect(await each.getAttribute('aria-expanded')).toBe('true')
    expect(await page.evaluate('document.activeElement.ariaLabel')).toBe('4 times TaskFailed: each of them')
    expect(await page.locator('tr.entry').count()).toBe(4)
  })

  it('has the newest of very many, says so, and finds the others by task and words', async () => {
    await failingCrowd(fixture.redis, fixture.namespace, { workers: 30, tasks: 20 })
    const registry = await fixture.registry()
    const page = await open(registry, 'failures')
    await page.getByText('Only the newest 1,000 of 6,000 failures that workers tell of are here').waitFor(patience)
    await page.getByRole('group', { name: 'Export 1,000 of 6,000 failures' }).waitFor()
    await look(browser, page, 'failures-many')
    await page.getByRole('combobox', { name: /^Task/ }).selectOption('task_7:1.0')
    await page.getByText(/^300 failures of 10 kinds, out of 6,000$/).waitFor()
    expect(await page.getByText('Only the newest').count()).toBe(0)
    await page.getByRole('searchbox').fill('call-29-7-9')
    await page.getByText('1 failure of 1 kind, out of 6,000').waitFor()
    await page.reload()
    await page.getByText('1 failure of 1 kind, out of 6,000').waitFor()
    await page.goto(registry.at('slow?task=task_7:1.0'))
    await page.getByText('300 of 6,000 calls').waitFor()
    await page.goto(registry.at('slow'))
    await page.getByText('Only the slowest 1,000 of 6,000 calls are here').waitFor()
  })

  it('says what would be there, where nothing failed', async () => {
    const registry = await fixture.registry()
    const page = await open(registry, 'failures')
    await page.getByText('Nothing failed in the last hour, and no caller was refused.').waitFor()
    await look(browser, page, 'failures-none')
    await page.goto(registry.at('slow'))
    await page.getByText('No call took longer than a millisecond in the last 5 minutes.').waitFor()
    await look(browser, page, 'slow-none')
  })
})

describe('the page of slow calls', () => {
  it('says where the time went, to be chosen by that and sorted', async () => {
    const { registry } = await shop()
    const page = await open(registry, '')
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Slow' }).click()
    const totals = () => page.locator('tbody td[data-name="where the time went"]').allInnerTexts()
    await expect.poll(async () => (await totals()).length, patience).toBeGreaterThanOrEqual(2)
    await page.getByRole('combobox', { name: /^Task/ }).selectOption('think:1.0')
    await expect.poll(totals).toEqual([expect.stringMatching(/^backlog \d+ %$/), expect.stringMatching(/^run \d+ %$/)])
    await look(browser, page, 'slow')
    await page.getByLabel('Longest phase').selectOption('backlog')
    await expect.poll(totals).toEqual([expect.stringMatching(/^backlog \d+ %$/)])
    expect(new URL(page.url()).search).toBe('?phase=backlog&task=think:1.0')
    await page.goBack()
    await page.getByRole('columnheader', { name: 'run' }).getByRole('link').click()
    await expect.poll(async () => (await totals())[0]).toMatch(/^run/)
    expect(new URL(page.url()).search).toBe('?sort=-exec&task=think:1.0')
    await page.getByRole('searchbox').fill('zebra')
    await page.getByRole('link', { name: 'Show all slow calls' }).waitFor()
    await page.goto(registry.at('tasks/think:1.0?part=live'))
    const row = page.getByRole('row').filter({ hasText: 'run 9' })
    expect(await textOf(row)).not.toContain('think:1.0')
    await page.getByRole('region', { name: 'Slowest calls' }).getByRole('link', { name: 'All, with search' }).click()
    expect(new URL(page.url()).search).toBe('?task=think:1.0')
  })
})
