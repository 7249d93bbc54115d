import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { failure } from '../support/hub-fixture.ts'
import { openPage, rowText, shopTasks } from '../support/pages-fixture.ts'
import { tokens, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()
const fourKinds = ['always_fails', 'no_such', 'print', 'print']
const viewport = { width: 1300, height: 900 }

/** A worker that failed at two tasks, and a hub whose call found no task. */
const shop = async () => {
  const registry = await fixture.registry()
  const print = defineTask('print:2.1', {}, async args => {
    throw new Error((args as { page: number }).page === 1 ? '=out of paper, "A4"' : 'out of ink')
  })
  await fixture.worker([...shopTasks(), print], { queue: 'images' })
  const hub = fixture.hub({ name: 'web' })
  for (let call = 0; call < 3; call++) await failure(hub.call('always_fails:1.0', {}))
  for (const page of [1, 2]) await failure(hub.call('print:2.1', { page }))
  await failure(hub.call('no_such:1.0', {}))
  return { registry, hub }
}

it('failures of one cause share a row, which lists each, and the address keeps the filters', async () => {
  const { registry } = await shop()
  const page = await openPage(browser, registry, 'failures', { viewport })
  await expect
    .poll(() => rowText(page, 'printer'))
    .toMatch(/^\S+( s)?( ago)? always_fails:1\.0 TaskFailed the printer is on fire 3 \S+ .s \S+ web \S+ pid \d+$/)
  await expect
    .poll(() => rowText(page, 'no_such'))
    .toMatch(/no_such:1\.0 NoSuchTask no worker answered .* 1 1 in the last minute – \S+ web hub on \S+ pid \d+$/)
  await page.getByText('6 failures of 4 kinds').first().waitFor()
  await page.getByRole('button', { name: '3 times TaskFailed: each of them' }).click()
  const entries = page.locator('tr.entry')
  await expect.poll(() => entries.count()).toBe(3)
  const ids = await entries.locator('.mono').allTextContents()
  expect(new Set(ids).size).toBe(3)
  await page.getByRole('searchbox').fill(ids[2]!)
  await page.getByText('1 failure of 1 kind, out of 6').waitFor()
  await page.getByRole('searchbox').fill('')

  const tasks = () => page.locator('tbody td[data-name=task]').allInnerTexts()
  await page.getByRole('combobox', { name: /^Code/ }).selectOption('TaskFailed')
  await expect.poll(tasks).toEqual(['print:2.1', 'print:2.1', 'always_fails:1.0'])
  await page.getByRole('combobox', { name: /^Task/ }).selectOption('print:2.1')
  await expect.poll(tasks).toEqual(['print:2.1', 'print:2.1'])
  await expect.poll(() => new URL(page.url()).search).toBe('?code=TaskFailed&task=print:2.1')

  // The table is saved as it is filtered, and no spreadsheet runs what is in it.
  const coming = page.waitForEvent('download')
  await page.getByRole('group', { name: 'Export 2 failures' }).getByRole('button', { name: 'CSV' }).click()
  const file = await coming
  expect(file.suggestedFilename()).toMatch(/-failures-\d{8}T\d{6}Z\.csv$/)
  const [head, ...rows] = readFileSync(await file.path(), 'utf8').split('\r\n')
  // Excel needs the mark to see that it is UTF-8.
  expect(head).toBe('\ufeffendedAt,task,code,message,times,lastMinute,request,runUs,caller,worker,hub,host,pid')
  expect(rows).toContainEqual(expect.stringContaining(`,print:2.1,TaskFailed,"'=out of paper, ""A4""",1,`))

  await page.goBack()
  await expect.poll(async () => (await tasks()).length).toBe(3)
  await page.getByRole('link', { name: 'times' }).click()
  await expect.poll(async () => (await tasks())[0]).toBe('always_fails:1.0')
  await page.getByRole('searchbox').fill('zebra')
  await page.getByRole('link', { name: 'Show all failures' }).click()
  await expect.poll(async () => (await tasks()).length).toBe(4)
})

it('a reading takes away neither an open row, nor the focus, nor a selection', async () => {
  const { registry, hub } = await shop()
  const page = await browser.page({ viewport })
  await page.clock.install()
  await page.goto(`${registry.at('failures')}#token=${tokens.admin}`)
  const tasks = () => page.locator('tbody td[data-name=task]').allInnerTexts()
  // All four kinds are there. A hub reads Redis' clock before it tells, so its row may be milliseconds off among the others.
  await expect.poll(async () => (await tasks()).sort().map(name => name.split(':')[0])).toEqual(fourKinds)
  await page.getByRole('button', { name: '3 times TaskFailed: each of them' }).click()
  const isOne = "({ textContent }) => textContent === 'the printer is on fire'"
  const one = `[...document.querySelectorAll('td.message bdi')].find(${isOne})`
  await page.evaluate(`getSelection().selectAllChildren(${one})`)
  const marked = () => page.evaluate('getSelection().toString()')
  await expect.poll(() => marked()).toBe('the printer is on fire')
  await failure(hub.call('always_fails:1.0', {}))
  const asked: string[] = []
  page.on('request', request => asked.push(new URL(request.url()).pathname))
  await page.clock.fastForward(20_000)
  await expect.poll(() => marked()).toBe('the printer is on fire')
  expect(asked.filter(path => path.startsWith('/api/failures'))).toEqual([])
  await page.evaluate('getSelection().removeAllRanges()')
  await page.clock.fastForward(20_000)
  // It moved up, and is open as before.
  await expect.poll(async () => (await tasks())[0]).toBe('always_fails:1.0')
  const each = page.getByRole('button', { name: '4 times TaskFailed: each of them' })
  await expect.poll(() => each.getAttribute('aria-expanded')).toBe('true')
  await expect.poll(() => page.evaluate('document.activeElement.ariaLabel')).toBe('4 times TaskFailed: each of them')
  await expect.poll(() => page.locator('tr.entry').count()).toBe(4)
})
