import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, it, vi } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { violationsOn } from '../support/axe.ts'
import { useBrowser } from '../support/browser.ts'
import { eventually } from '../support/hub-fixture.ts'
import { dialog, heading, office } from '../support/office-fixture.ts'
import { look, openPage, textOf } from '../support/pages-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()
const keys = (queue = 'office') => queueKeys(fixture, queue)
vi.setConfig({ testTimeout: 60_000 })

const exact = '9007199254740993'

describe('the times of a job', () => {
  it('are drawn from when it came to its end, each wait and each try, with words beside them', async () => {
    const { registry, hub } = await office(fixture, 0)
    const flaky = defineTask('flaky:1.0', { retries: 2, backoff: 300 }, async (_, { attempt }) => {
      await pause(100)
      throw new Error(`try ${attempt} broke`)
    })
    await fixture.worker([flaky], { queue: 'office' })
    const job = await hub.enqueue(flaky, {}, { tracked: true, delayMs: 400 })
    await eventually(async () => (await job.status()).state === 'dead')
    const page = await openPage(browser, registry, `jobs/${job.id}`)
    const rows = page.getByRole('region', { name: 'Timeline' }).getByRole('listitem')
    const told = [
      'waiting to be taken',
      'try 1, failed: TaskFailed',
      'waiting for its next try, and for a slot',
      'try 2, failed: TaskFailed',
      'waiting for its next try',
      'waiting for a slot',
      'try 3, failed: TaskFailed',
    ]
    await expect.poll(() => rows.count()).toBe(told.length)
    const texts = (await rows.allInnerTexts()).map(text => text.replace(/\s+/g, ' ').trim())
    const when = String.raw`\d\d:\d\d:\d\d [\d.]+ (ms|s|µs)`
    expect(texts).toEqual(told.map(each => expect.stringMatching(new RegExp(`^${each} ?${when}$`))))
    // The bar of each begins where that of the one before ends.
    const bars = await page.locator('.timeline-track > span').evaluateAll(all =>
      all.map(each => {
        const own = each.getBoundingClientRect()
        const track = each.parentElement!.getBoundingClientRect()
        return [own.left - track.left, own.right - track.left, track.width]
      }),
    )
    for (const [from, to, whole] of bars) {
      expect(from).toBeGreaterThanOrEqual(0)
      expect(to).toBeLessThanOrEqual(whole! + 0.5)
    }
    expect(bars[0]![1]! / bars[0]![2]!).toBeGreaterThan(0.2)
    expect(bars.map(([from]) => from)).toEqual(bars.map(([from]) => from!).toSorted((a, b) => a - b))
    expect(await violationsOn(page)).toEqual([])
    await look(browser, page, 'job-times')
  })

  it('go on while it waits for its next try, and it is run at once by its button', async () => {
    const { registry, hub } = await office(fixture, 0)
    const job = await hub.enqueue('mail:1.0', {}, { tracked: true })
    await eventually(async () => (await job.status()).state === 'retrying')
    const page = await openPage(browser, registry, `jobs/${job.id}`)
    const timeline = page.getByRole('region', { name: 'Timeline' })
    await timeline.getByText('waiting for its next try').waitFor()
    await timeline.getByText('still to come, and not to scale').waitFor()
    await page.getByRole('button', { name: /^Run now / }).click()
    await dialog(page).getByText('Its tries before stay counted.').waitFor()
    await dialog(page).getByRole('button', { name: 'Run it now' }).click()
    await page.getByText('It waits no longer: the next free slot takes it.').waitFor()
    await timeline.getByText('try 2').waitFor()
    expect((await job.status()).tries).toBe(2)
    await look(browser, page, 'job-retrying')
  })
})

describe('what is done with many jobs', () => {
  it('is that all which wait for their time are run at once', async () => {
    const { registry, hub } = await office(fixture, 0)
    await hub.enqueueMany(Array.from({ length: 25 }, (_, page) => ['print:1.0', { page }, { delayMs: 3_600_000 }]))
    const page = await openPage(browser, registry, 'jobs?state=scheduled')
    await page.getByRole('button', { name: 'Run all now' }).click()
    await dialog(page).getByRole('button', { name: 'Run 25 scheduled jobs now' }).click()
    await dialog(page).getByText('25 jobs are run now.').waitFor()
    await dialog(page).getByRole('button', { name: 'Close' }).click()
    await page.getByText('No job waits for its time.').waitFor()
    expect(await fixture.redis.zcard(keys().scheduled)).toBe(0)
  })

  it('is asked for by what they are of, typed, before more than 20 are lost', async () => {
    const { registry } = await office(fixture, 22)
    const page = await openPage(browser, registry, 'jobs?state=dead')
    const open = async () => page.getByRole('button', { name: 'Delete all' }).click()
    await open()
    const field = dialog(page).getByRole('textbox', { name: 'To go on, type 22' })
    const verb = dialog(page).getByRole('button', { name: 'Delete 22 dead jobs' })
    await field.waitFor()
    expect(await verb.getAttribute('aria-disabled')).toBe('true')
    await verb.click({ force: true })
    expect(await textOf(dialog(page).getByRole('alert'))).toBe('Type 22 first.')
    await field.fill('21')
    await field.press('Enter')
    await dialog(page).getByRole('alert').waitFor()
    expect(await fixture.redis.zcard(keys().dead)).toBe(22)
    expect(await violationsOn(page)).toEqual([])
    await look(browser, page, 'job-typed')
    await page.keyboard.press('Escape')
    await page.getByLabel('Queue').selectOption('office')
    await open()
    await dialog(page).getByRole('textbox', { name: 'To go on, type office' }).fill(' office ')
    await page.keyboard.press('Enter')
    await dialog(page).getByText('22 jobs are deleted.').waitFor()
    expect(await fixture.redis.zcard(keys().dead)).toBe(0)
  })
})

describe('the values of a job', () => {
  it('have large integers as they are, also after they were edited, and members in two orders', async () => {
    const { registry } = await office(fixture, 0)
    const bury = (id: string) =>
      fixture.redis.zadd(
        keys().dead,
        5000,
        `{"at":1000,"ttl":0,"id":"${id}","job":{"tries":1,"errors":[{"at":5000,"code":"TaskFailed","message":"no"}]},"task":"print:1.0","args":{"z": ${exact}, "a": 1.50}}`,
      )
    await bury('exact')
    // The worker hears of it with its next beat, long before the job is tried again: it stays where it can be looked at.
    await fixture.redis.set(keys().paused, '1000')
    const page = await openPage(browser, registry, 'jobs/exact?queue=office&state=dead')
    const value = page.locator('.job-value')
    await heading(page, 'Job exact')
    await value.waitFor()
    expect(await textOf(value)).toBe(`{ "z": ${exact} "a": 1.50 }`)
    const sort = page.getByRole('button', { name: 'Sort by name: arguments' })
    await sort.click()
    expect(await sort.getAttribute('aria-pressed')).toBe('true')
    expect(await textOf(value)).toBe(`{ "a": 1.50 "z": ${exact} }`)
    await page.getByRole('button', { name: 'Edit the arguments and try again' }).click()
    const field = page.getByRole('textbox', { name: 'Arguments as JSON' })
    expect(await field.inputValue()).toBe(`{\n  "z": ${exact},\n  "a": 1.50\n}`)
    await field.fill(`{"z": ${exact}5,`)
    await page.getByText('Line 1, column').waitFor()
    await page.getByRole('button', { name: 'Try again with these arguments' }).click()
    await page.getByText('The arguments cannot be sent: they are no JSON.').waitFor()
    await look(browser, page, 'job-exact')
    await field.fill(`{"z": ${exact}5}`)
    await page.getByRole('button', { name: 'Try again with these arguments' }).click()
    await page.getByText('It is tried again.').waitFor()
    const [text] = await fixture.redis.lrange(keys().jobs, 0, -1)
    expect(text).toContain(`"args":{"z": ${exact}5}`)
    await fixture.redis.del(keys().paused)
  })

  it('have large integers in a result as they are', async () => {
    const { registry, hub } = await office(fixture, 0)
    const job = await hub.enqueue('print:1.0', { page: 1 }, { tracked: true })
    await job.result()
    await fixture.redis.hset(keys().job(job.id), 'result', `{"n":[${exact}]}`)
    const page = await openPage(browser, registry, `jobs/${job.id}`)
    await expect.poll(() => textOf(page.locator('.job-value'))).toBe(`{ "n": [ ${exact} ] }`)
  })
})
