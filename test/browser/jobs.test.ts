import { describe, expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { eventually } from '../support/hub-fixture.ts'
import { dialog, heading, office, print } from '../support/office-fixture.ts'
import { openPage, rowText, textOf } from '../support/pages-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const exact = '9007199254740993'
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
    await expect
      .poll(() => rowText(page, 'no such page'))
      .toMatch(/^print:1\.0 \S{22} office .* ago 1 TaskFailed no such page shop$/)
    await page.getByRole('searchbox').fill('"page":-3')
    await expect.poll(() => page.getByRole('row').count()).toBe(2)
    await expect.poll(() => new URL(page.url()).search).toBe('?q=%22page%22:-3&state=dead')
    await page.reload()
    await expect.poll(() => page.getByRole('row').count()).toBe(2)
    await page.getByRole('button', { name: 'Retry all' }).click()
    await dialog(page).getByText('1 dead job matches.').waitFor()
    await page.keyboard.press('Escape')
    await expect.poll(() => dialog(page).count()).toBe(0)
    await expect.poll(() => fixture.redis.zcard(keys().dead)).toBe(7)
    await page.getByRole('searchbox').fill('')
    await page.getByLabel('Task').selectOption('print:1.0')
    await expect.poll(() => new URL(page.url()).search).toBe('?state=dead&task=print:1.0')
    await expect.poll(() => page.getByRole('row').count()).toBe(8)
    await page.getByRole('button', { name: 'Delete all' }).click()
    await dialog(page).getByRole('button', { name: 'Delete 7 dead jobs' }).click()
    await dialog(page).getByText('7 jobs are deleted.').waitFor()
    await dialog(page).getByRole('button', { name: 'Close' }).click()
    await page.getByText('No matching jobs.').waitFor()
    await states.getByRole('link', { name: 'Scheduled 60' }).click()
    await expect.poll(() => page.getByRole('row').count()).toBe(51)
    await page.getByRole('link', { name: 'Next' }).click()
    await expect.poll(() => page.getByRole('row').count()).toBe(11)
    await page.getByText('No further jobs').waitFor()
    await page.getByRole('link', { name: 'First page' }).click()
    await expect.poll(() => page.getByRole('row').count()).toBe(51)
    await states.getByRole('link', { name: 'Retrying 1' }).click()
    await expect.poll(() => new URL(page.url()).search).toBe('?state=retrying&task=print:1.0')
  })

  it('are deleted in bulk only once their number or their queue was typed, where they are more than 20', async () => {
    const { registry } = await office(fixture, 22)
    const page = await openPage(browser, registry, 'jobs?state=dead')
    const open = async () => page.getByRole('button', { name: 'Delete all' }).click()
    await open()
    const field = dialog(page).getByRole('textbox', { name: 'To confirm, type 22' })
    const verb = dialog(page).getByRole('button', { name: 'Delete 22 dead jobs' })
    await field.waitFor()
    await expect.poll(() => verb.getAttribute('aria-disabled')).toBe('true')
    await verb.click({ force: true })
    await expect.poll(() => textOf(dialog(page).getByRole('alert'))).toBe('Type 22 first.')
    await field.fill('21')
    await field.press('Enter')
    await dialog(page).getByRole('alert').waitFor()
    await expect.poll(() => fixture.redis.zcard(keys().dead)).toBe(22)
    await page.keyboard.press('Escape')
    await page.getByLabel('Queue').selectOption('office')
    await open()
    await dialog(page).getByRole('textbox', { name: 'To confirm, type office' }).fill(' office ')
    await page.keyboard.press('Enter')
    await dialog(page).getByText('22 jobs are deleted.').waitFor()
    await expect.poll(() => fixture.redis.zcard(keys().dead)).toBe(0)
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
    await expect
      .poll(() => textOf(page.locator('.facts')))
      .toMatch(
        /^Task print:1\.0 Queue office Failed once Enqueued .* Dead since .* Enqueued by shop Others jobs of this task$/,
      )
    await expect.poll(() => rowText(page, 'no such page')).toMatch(/TaskFailed no such page$/)
    await page.getByRole('button', { name: 'Edit and retry' }).click()
    const field = page.getByRole('textbox', { name: 'page' })
    await expect.poll(() => field.inputValue()).toBe('-5')
    await field.fill('5')
    await page.getByRole('button', { name: 'Retry with these arguments' }).click()
    await page.getByText('Retried.').waitFor()
    await page.locator('.head-tools').getByText('done', { exact: true }).waitFor()
    await page.getByRole('heading', { name: 'Result' }).waitFor()
    await expect.poll(() => textOf(page.locator('.job-value'))).toContain('"printed": 5')
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
    await expect.poll(() => states()).toEqual(['done', 'dead', 'pending'])
    await expect.poll(() => steps.nth(0).getAttribute('aria-current')).toBe('step')
    await steps.nth(1).getByRole('link').click()
    await heading(page, `Job ${chain.id}-2`)
    const edit = page.getByRole('button', { name: 'Edit and retry' })
    await edit.click()
    await page.getByRole('textbox', { name: 'page' }).fill('2')
    await page.getByRole('button', { name: 'Retry with these arguments' }).click()
    await expect.poll(states).toEqual(['done', 'done', 'done'])
  })

  it('keeps large integers exact, also after an edit, and sorts members on demand', async () => {
    const { registry } = await office(fixture, 0)
    // Nobody serves its queue, so that it stays where it can be looked at.
    await fixture.redis.hset(`${fixture.namespace}:tasks`, 'far:1.0', '{"task":"far:1.0","queue":"far"}')
    const job = '{"tries":1,"errors":[{"at":5000,"code":"TaskFailed","message":"no"}]}'
    const args = `{"z": ${exact}, "a": 0.12345678901234567890}`
    await fixture.redis.zadd(
      keys('far').dead,
      5000,
      `{"at":1000,"ttl":0,"id":"exact","job":${job},"task":"print:1.0","args":${args}}`,
    )
    const page = await openPage(browser, registry, 'jobs/exact?queue=far&state=dead')
    const value = page.locator('.job-value')
    await heading(page, 'Job exact')
    await value.waitFor()
    await expect.poll(() => textOf(value)).toBe(`{ "z": ${exact} "a": 0.12345678901234567890 }`)
    const sort = page.getByRole('button', { name: 'Sort by name: arguments' })
    await sort.click()
    await expect.poll(() => sort.getAttribute('aria-pressed')).toBe('true')
    await expect.poll(() => textOf(value)).toBe(`{ "a": 0.12345678901234567890 "z": ${exact} }`)
    await page.getByRole('button', { name: 'Edit and retry' }).click()
    const field = page.getByRole('textbox', { name: 'Arguments as JSON' })
    await expect.poll(() => field.inputValue()).toBe(`{\n  "z": ${exact},\n  "a": 0.12345678901234567890\n}`)
    await field.fill(`{"z": ${exact}5,`)
    await page.getByText('Line 1, column').waitFor()
    await page.getByRole('button', { name: 'Retry with these arguments' }).click()
    await page.getByText('The arguments cannot be sent: they are not JSON.').waitFor()
    await field.fill(`{"z": ${exact}5}`)
    await page.getByRole('button', { name: 'Retry with these arguments' }).click()
    await page.getByText('Retried.').waitFor()
    const [text] = await fixture.redis.lrange(keys('far').jobs, 0, -1)
    expect(text).toContain(`"args":{"z": ${exact}5}`)
  })
})
