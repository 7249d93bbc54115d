import { describe, expect, it } from 'vitest'
import type { Role } from '../../registry/contract.ts'
import { useBrowser } from '../support/browser.ts'
import { eventually } from '../support/hub-fixture.ts'
import { dialog, heading, office, print } from '../support/office-fixture.ts'
import { openPage, rowText, textOf } from '../support/pages-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()
const keys = (queue = 'office') => queueKeys(fixture, queue)

describe('the jobs', () => {
  it('are listed by state, filtered by the address, and all that match are tried again once somebody saw how many', async () => {
    const { registry, hub } = await office(fixture, 7)
    await hub.enqueue('mail:1.0', {})
    await hub.enqueueMany(
      Array.from({ length: 60 }, (_, n) => ['print:1.0', { page: n }, { delayMs: 60_000 * (n + 1) }]),
    )
    const page = await openPage(browser, registry, 'jobs')
    const states = page.getByRole('navigation', { name: 'State' })
    await states.getByRole('link', { name: 'Dead 7' }).click()
    await expect.poll(() => page.getByRole('row').count()).toBe(8)
    expect(await rowText(page, 'no such page')).toMatch(
      /^print:1\.0 \S{22} office .* ago 1 TaskFailed no such page shop$/,
    )
    await page.getByRole('searchbox').fill('"page":-3')
    await expect.poll(() => page.getByRole('row').count()).toBe(2)
    expect(new URL(page.url()).search).toBe('?q=%22page%22:-3&state=dead')
    await page.reload()
    await expect.poll(() => page.getByRole('row').count()).toBe(2)
    await page.getByRole('button', { name: 'Try all again' }).click()
    await dialog(page).getByText('1 dead job matches.').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => dialog(page).count()).toBe(0)
    expect(await fixture.redis.zcard(keys().dead)).toBe(7)
    await page.getByRole('searchbox').fill('')
    await page.getByLabel('Task').selectOption('print:1.0')
    await page.getByRole('button', { name: 'Delete all' }).click()
    await dialog(page).getByRole('button', { name: 'Delete 7 dead jobs' }).click()
    await dialog(page).getByText('7 jobs are deleted.').waitFor()
    await browser.screenshot(page, 'jobs-bulk')
    await dialog(page).getByRole('button', { name: 'Close' }).click()
    await page.getByText('No job fits.').waitFor()
    await states.getByRole('link', { name: 'Scheduled 60' }).click()
    await expect.poll(() => page.getByRole('row').count()).toBe(51)
    await page.getByRole('link', { name: 'Next' }).click()
    await expect.poll(() => page.getByRole('row').count()).toBe(11)
    await page.getByText('No further jobs').waitFor()
    await page.getByRole('link', { name: 'First page' }).click()
    await expect.poll(() => page.getByRole('row').count()).toBe(51)
    await states.getByRole('link', { name: 'Retrying 1' }).click()
    expect(new URL(page.url()).search).toBe('?state=retrying&task=print:1.0')
  })

  it('are tried again in many steps, with how far it is', async () => {
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
    await page.getByRole('button', { name: 'Try all again' }).click()
    await dialog(page).getByRole('button', { name: 'Try 450 dead jobs again' }).click()
    await dialog(page).getByText('200 of 450').waitFor()
    expect(await dialog(page).getByRole('progressbar').getAttribute('value')).toBe('200')
    await dialog(page).getByRole('button', { name: 'Stop' }).click()
    await dialog(page).getByText('200 jobs are tried again.').waitFor()
    await dialog(page).getByRole('alert').getByText('You stopped it').waitFor()
    expect(await fixture.redis.llen(keys().jobs)).toBe(200)
  })

  it('may be looked at by everybody, and changed by admins', async () => {
    const { registry } = await office(fixture, 1)
    for (const role of ['view', 'run'] as const satisfies Role[]) {
      const page = await openPage(browser, registry, 'jobs?state=dead', { role })
      const button = page.getByRole('button', { name: `Delete all: This needs the role admin; yours is ${role}.` })
      await button.click({ force: true })
      expect(await dialog(page).count()).toBe(0)
      await page.getByRole('row').nth(1).getByRole('link').nth(1).click()
      await heading(page, /^Job /)
      await page.getByRole('button', { name: /^Try again .*This needs the role admin/ }).waitFor()
    }
  })
})

describe('the page of a job', () => {
  it('shows all of it, and tries it again with other arguments, by the form of its task', async () => {
    const { registry, hub } = await office(fixture, 0)
    const job = await hub.enqueue(print, { page: -5 }, { tracked: true })
    await eventually(async () => (await job.status()).state === 'dead')
    const page = await openPage(browser, registry, `jobs/${job.id}`)
    await heading(page, `Job ${job.id}`)
    await page.locator('.facts').waitFor()
    expect(await textOf(page.locator('.facts'))).toMatch(
      /^Task print:1\.0 Queue office Failed once Enqueued .* Given up .* Enqueued by shop Others jobs of this task$/,
    )
    expect(await rowText(page, 'no such page')).toMatch(/TaskFailed no such page$/)
    await page.getByRole('button', { name: 'Edit the arguments and try again' }).click()
    const field = page.getByRole('textbox', { name: 'page' })
    await expect.poll(() => field.inputValue()).toBe('-5')
    await field.fill('5')
    await page.getByRole('button', { name: 'Try again with these arguments' }).click()
    await page.getByText('It is tried again.').waitFor()
    await page.locator('.head-tools').getByText('done', { exact: true }).waitFor()
    await page.getByRole('heading', { name: 'Result' }).waitFor()
    expect(await textOf(page.locator('.job-value'))).toContain('"printed": 5')
    await browser.screenshot(page, 'jobs-job')
  })

  it('draws its chain, which goes on from the step that was given up', async () => {
    const { registry, hub } = await office(fixture, 0)
    const chain = await hub.chain([
      ['print:1.0', { page: 1 }],
      ['print:1.0', { page: -1 }],
      ['print:1.0', { page: 3 }],
    ])
    await eventually(async () => (await chain.status())[1]!.state === 'dead')
    const page = await openPage(browser, registry, `jobs/${chain.id}`)
    const steps = page.locator('.chain .step')
    await expect.poll(() => steps.allInnerTexts()).toHaveLength(3)
    const states = async () => (await steps.allInnerTexts()).map(text => text.split(/\s+/)[1])
    expect(await states()).toEqual(['done', 'dead', 'pending'])
    expect(await steps.nth(0).getAttribute('aria-current')).toBe('step')
    await steps.nth(1).getByRole('link').click()
    await heading(page, `Job ${chain.id}-2`)
    const edit = page.getByRole('button', { name: 'Edit the arguments and try again' })
    await edit.click()
    await page.getByRole('textbox', { name: 'page' }).fill('2')
    await page.getByRole('button', { name: 'Try again with these arguments' }).click()
    await expect.poll(states).toEqual(['done', 'done', 'done'])
    await browser.screenshot(page, 'jobs-chain')
  })

  it('draws its batch, and what follows that', async () => {
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
    expect(await textOf(page.locator('.batch'))).toBe(
      'done 1 not done 1 left 1 67 % of 3 jobs have ended. → When all are done print:1.0 When one did not end well mail:1.0',
    )
    await page.getByRole('button', { name: /^Cancel / }).click()
    await dialog(page).getByRole('button', { name: 'Cancel it' }).click()
    await page.locator('.head-tools').getByText('cancelled').waitFor()
  })

  it('says when nothing is known of it', async () => {
    browser.allow(/status of 404/)
    const page = await openPage(browser, (await office(fixture, 0)).registry, 'jobs/nobody')
    await page.getByText('Nothing is known of this job.').waitFor()
  })
})
