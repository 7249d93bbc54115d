import { readFileSync } from 'node:fs'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { failure } from '../support/hub-fixture.ts'
import { look, openPage, shopTasks } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()
const patience = { timeout: 20_000 }

/** What a press of the button saves. */
const saved = async (page: Page, group: string | RegExp, kind: 'CSV' | 'JSON') => {
  const coming = page.waitForEvent('download')
  await page.getByRole('group', { name: group }).getByRole('button', { name: kind }).click(patience)
  const file = await coming
  return { name: file.suggestedFilename(), text: readFileSync(await file.path(), 'utf8') }
}

it('each table is saved as it is filtered and sorted', async () => {
  // The record of the job that is cancelled at the end.
  fixture.allowLeftovers()
  const registry = await fixture.registry()
  const print = defineTask('print:1.0', {}, async () => {
    throw new Error('=HYPERLINK("http://x","out of, paper")')
  })
  const pause = defineTask('pause:1.0', {}, () => new Promise(resolve => setTimeout(resolve, 30)))
  await fixture.worker([...shopTasks(), print, pause], { queue: 'images' })
  const hub = fixture.hub({ name: 'web' })
  for (const task of ['print:1.0', 'print:1.0', 'always_fails:1.0']) await failure(hub.call(task, {}))
  await hub.call('pause:1.0', {})
  const job = await hub.enqueue('pause:1.0', {}, { delayMs: 3600_000, queue: 'images', tracked: true })
  fixture.onEnd(() => job.cancel())
  await hub.schedule('nightly', { cron: '0 3 * * *' }, 'pause:1.0', {})
  fixture.onEnd(() => hub.schedules('images').remove('nightly'))

  const page = await openPage(browser, registry, 'tasks?sort=-task&q=resize', {
    viewport: { width: 1300, height: 900 },
  })
  const tasks = await saved(page, 'Export 2 tasks', 'JSON')
  expect(JSON.parse(tasks.text).map(({ task }: { task: string }) => task)).toEqual([
    'resize_image:2.0',
    'resize_image:1.0',
  ])
  expect(tasks.name).toMatch(new RegExp(`^pshub-${fixture.namespace}-tasks-\\d{8}T\\d{6}Z\\.json$`))
  await look(browser, page, 'export-tasks')

  await page.goto(registry.at('failures?task=print:1.0'))
  const failures = await saved(page, 'Export 2 failures', 'CSV')
  expect(failures.name).toMatch(new RegExp(`^pshub-${fixture.namespace}-failures-\\d{8}T\\d{6}Z\\.csv$`))
  const [head, ...rows] = failures.text.split('\r\n')
  // Excel needs the mark to see that it is UTF-8.
  expect(head).toBe('\ufeffendedAt,task,code,message,times,lastMinute,request,runUs,caller,worker,hub,host,pid')
  expect(rows).toEqual([
    expect.stringMatching(
      /^20.*Z,print:1\.0,TaskFailed,"'=HYPERLINK\(""http:\/\/x"",""out of, paper""\)",1,,[\w-]+,\d+,web,/,
    ),
    expect.stringMatching(/^20/),
    '',
  ])

  for (const [path, group, column, value] of [
    ['queues', 'Export 1 queue', 'queue', 'images'],
    ['workers', 'Export 1 worker', 'state', 'serving'],
    ['slow?task=pause:1.0', 'Export 1 slow call', 'longest', 'run'],
    ['jobs?state=scheduled', 'Export 1 job', 'job', job.id],
    ['schedules', 'Export 1 schedule', 'name', 'nightly'],
  ] as const) {
    await page.goto(registry.at(path))
    expect(JSON.parse((await saved(page, group, 'JSON')).text)).toMatchObject([{ [column]: value }])
    expect((await saved(page, group, 'CSV')).text.split('\r\n')).toHaveLength(3)
  }
  await page.goto(registry.at('tasks?q=zebra'))
  await page.getByText('No task fits.').waitFor()
  expect(await page.getByRole('button', { name: 'CSV' }).count()).toBe(0)
}, 90_000)
