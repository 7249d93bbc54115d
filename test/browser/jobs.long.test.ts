import { expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { eventually } from '../support/hub-fixture.ts'
import { dialog, office } from '../support/office-fixture.ts'
import { openPage, textOf } from '../support/pages-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { useRegistry } from '../support/registry-fixture.ts'
import { judge } from './judge.ts'

const fixture = useRegistry()
const browser = useBrowser()
const keys = (queue = 'office') => queueKeys(fixture, queue)

it('a job that waits for its next try is run now by its button', async () => {
  const { registry, hub } = await office(fixture, 0)
  const job = await hub.enqueue('mail:1.0', {}, { tracked: true })
  await eventually(async () => (await job.status()).state === 'retrying')
  const page = await openPage(browser, registry, `jobs/${job.id}`)
  const timeline = page.getByRole('region', { name: 'Timeline' })
  await timeline.getByText('waiting for its next try').waitFor()
  await timeline.getByText('planned, not to scale').waitFor()
  await page.getByRole('button', { name: /^Run now / }).click()
  await dialog(page).getByText('It keeps its count of tries.').waitFor()
  await dialog(page).getByRole('button', { name: 'Run it now' }).click()
  await page.getByText('Due now: the next idle slot runs it.').waitFor()
  await timeline.getByText('try 2').waitFor()
  expect((await job.status()).tries).toBe(2)
  await judge(page, 'job-retrying', browser)
})

it('a bulk retry goes in steps, shows its progress and can be stopped', async () => {
  fixture.allowLeftovers()
  const registry = await fixture.registry()
  await fixture.redis.hset(`${fixture.namespace}:tasks`, 'print:1.0', '{"task":"print:1.0","queue":"office"}')
  const pipeline = fixture.redis.pipeline()
  for (let n = 0; n < 450; n++) pipeline.zadd(keys().dead, n, `{"id":"d${n}","task":"print:1.0"}`)
  await pipeline.exec()
  const page = await openPage(browser, registry, 'jobs?state=dead')
  const gates: (() => void)[] = []
  await page.route('**/api/jobs-matching/retry', async route => {
    if (gates.push(() => void route.continue()) === 1) gates[0]!()
  })
  await page.getByRole('button', { name: 'Retry all' }).click()
  await dialog(page).getByRole('button', { name: 'Retry 450 dead jobs' }).click()
  await dialog(page).getByText('200 of 450').waitFor()
  await expect.poll(() => dialog(page).getByRole('progressbar').getAttribute('value')).toBe('200')
  await dialog(page).getByRole('button', { name: 'Stop' }).click()
  await dialog(page).getByText('200 jobs are retried.').waitFor()
  await dialog(page).getByRole('alert').getByText('You stopped it').waitFor()
  await expect.poll(() => fixture.redis.llen(keys().jobs)).toBe(200)
})

it('a job draws its batch, and what follows it', async () => {
  const { registry, hub } = await office(fixture, 0)
  const batch = await hub.batch(
    [
      ['print:1.0', { page: 1 }],
      ['print:1.0', { page: -1 }],
      ['print:1.0', { page: 2 }, { delayMs: 600_000, tracked: true }],
    ],
    { then: ['print:1.0', { page: 9 }], failed: ['mail:1.0', {}] },
  )
  await eventually(async () => (await batch.status())?.dead === 1 && (await batch.status())?.done === 1)
  const page = await openPage(browser, registry, `jobs/${batch.ids[2]}`)
  await page.getByRole('heading', { name: 'Batch' }).waitFor()
  await expect
    .poll(() => textOf(page.locator('.batch')))
    .toBe('done 1 failed 1 left 1 67 % of 3 jobs have ended. → When all are done print:1.0 When a job failed mail:1.0')
  await page.getByRole('button', { name: /^Cancel / }).click()
  await dialog(page).getByRole('button', { name: 'Cancel it' }).click()
  await page.locator('.head-tools').getByText('cancelled').waitFor()
})
