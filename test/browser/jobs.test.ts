import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import type { Role } from '../../registry/contract.ts'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { eventually } from '../support/hub-fixture.ts'
import { openPage, overflows, rowText, textOf } from '../support/pages-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { useRegistry } from '../support/registry-fixture.ts'
import { scriptPayloads } from '../support/script-payloads.ts'

const fixture = useRegistry()
const browser = useBrowser()
const keys = (queue = 'office') => queueKeys(fixture, queue)

const args = {
  type: 'object',
  properties: { page: { type: 'integer' } },
  additionalProperties: false,
} as const
const print = defineTask('print:1.0', { args, retries: 0 }, ({ page = 0 }: { page?: number }) => {
  if (page < 0) throw new Error('no such page')
  return { printed: page }
})
const mail = defineTask('mail:1.0', { retries: 3, backoff: 600_000 }, () => {
  throw new Error('the server is away')
})

/** A registry with a worker that has given up some jobs. */
const office = async (dead: number) => {
  fixture.allowLeftovers()
  const registry = await fixture.registry()
  await fixture.worker([print, mail], { queue: 'office' })
  const hub = fixture.hub({ name: 'shop' })
  await hub.enqueueMany(Array.from({ length: dead }, (_, n) => ['print:1.0', { page: -1 - n }]))
  await eventually(async () => (await fixture.redis.zcard(keys().dead)) === dead)
  return { registry, hub }
}

const heading = (page: Page, name: string | RegExp) => page.getByRole('heading', { level: 1, name }).waitFor()
const dialog = (page: Page) => page.getByRole('dialog')

describe('the jobs', () => {
  it('are listed by state, filtered by the address, and all that match are tried again once somebody saw how many', async () => {
    const { registry, hub } = await office(7)
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
    const { registry } = await office(1)
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
    const { registry, hub } = await office(0)
    const job = await hub.enqueue(print, { page: -5 }, { tracked: true })
    await eventually(async () => (await job.status()).state === 'dead')
    const page = await openPage(browser, registry, `jobs/${job.id}`)
    await heading(page, `Job ${job.id}`)
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
    const { registry, hub } = await office(0)
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
    const { registry, hub } = await office(0)
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
    const page = await openPage(browser, (await office(0)).registry, 'jobs/nobody')
    await page.getByText('Nothing is known of this job.').waitFor()
  })
})

describe('the form of a task', () => {
  it('enqueues what is in it, and leads to the job', async () => {
    const { registry } = await office(0)
    const page = await openPage(browser, registry, 'tasks/print:1.0', { role: 'run' })
    await page.getByRole('textbox', { name: 'page' }).fill('4')
    await page.getByText('How it is enqueued').click()
    await page.getByLabel('When').selectOption('after a delay')
    await page.getByRole('button', { name: 'Enqueue' }).click()
    await page.getByText('The delay must be a number.').waitFor()
    await page.getByLabel('Delay', { exact: true }).fill('10')
    await page.getByLabel('Retries').fill('2')
    await page.getByLabel('Priority').selectOption('high')
    await page.getByLabel('Only once').selectOption('id')
    await page.getByLabel('Unique id').fill('once')
    await page.getByRole('button', { name: 'Enqueue' }).click()
    await page.getByText(/^Enqueued as/).waitFor()
    await page.getByRole('button', { name: 'Enqueue' }).click()
    await page.getByText(/^It was there already, as/).waitFor()
    await page.getByRole('link', { name: /^job / }).click()
    await heading(page, /^Job /)
    await expect
      .poll(() => textOf(page.locator('.facts')))
      .toMatch(/Failed never of 3 tries Priority high .* \(in \d+ min.* Only one of print:1\.0:once/)
    expect(await textOf(page.locator('.job-value'))).toContain('"page": 4')
  })

  it('does not enqueue what the form finds wrong, and says so', async () => {
    const { registry } = await office(0)
    const page = await openPage(browser, registry, 'tasks/print:1.0')
    await page.getByRole('tab', { name: 'JSON' }).click()
    await page.getByRole('textbox', { name: 'Arguments as JSON' }).fill('{"page": "four"}')
    await page.getByRole('button', { name: 'Enqueue' }).click()
    await page.getByText('Not ready to run').waitFor()
    expect(await fixture.redis.llen(keys().jobs)).toBe(0)
  })

  it('makes a schedule, which is paused, run, resumed and removed on its page', async () => {
    const { registry } = await office(0)
    const page = await openPage(browser, registry, 'tasks/print:1.0')
    await page.getByRole('textbox', { name: 'page' }).fill('6')
    await page.locator('summary', { hasText: 'Schedule' }).click()
    await page.getByLabel('Name of the schedule').fill('nightly')
    browser.allow(/status of 400 .*schedules/)
    await page.getByLabel('Cron').fill('at night')
    await page.getByLabel('Time zone').fill('Europe/Berlin')
    await page.getByRole('button', { name: 'Schedule it' }).click()
    await page.getByText(/cron 'at night' in Europe\/Berlin/).waitFor()
    await page.getByLabel('Cron').fill('0 3 * * *')
    await page.getByRole('button', { name: 'Schedule it' }).click()
    await page.getByRole('link', { name: 'nightly' }).click()
    await heading(page, 'Schedules')
    await expect
      .poll(() => rowText(page, 'nightly'))
      .toMatch(/^nightly print:1\.0 0 3 \* \* \* Europe\/Berlin in .* never once office Run now Pause Remove$/)
    const act = async (name: string, verb: string) => {
      await page.getByRole('button', { name: `${name} nightly` }).click()
      await dialog(page).getByRole('button', { name: verb }).click()
      await expect.poll(() => dialog(page).count()).toBe(0)
    }
    await act('Run now', 'Enqueue its job')
    await page.getByText(/^nightly is enqueued as job/).waitFor()
    await act('Pause', 'Pause it')
    await expect.poll(() => rowText(page, 'nightly')).toMatch(/^nightly paused print:1\.0 .* paused for .* ago once/)
    await browser.screenshot(page, 'jobs-schedules')
    await act('Resume', 'Resume it')
    await act('Remove', 'Remove it')
    await page.getByText('There is no schedule.').waitFor()
  })

  it('lets only admins make schedules', async () => {
    const { registry } = await office(0)
    const page = await openPage(browser, registry, 'tasks/print:1.0', { role: 'run' })
    await page.locator('summary', { hasText: 'Schedule' }).click()
    await page.getByText('This needs the role admin; yours is run.').waitFor()
  })
})

describe('the overview and the page of a queue', () => {
  it('count jobs, and tell of those that wait for too long', async () => {
    const { registry, hub } = await office(2)
    await hub.pause('office')
    await fixture.redis.hset(`${fixture.namespace}:tasks`, 'far:1.0', '{"task":"far:1.0","queue":"far"}')
    const at = (Date.now() - 900_000) * 1000
    await fixture.redis.rpush(keys('far').jobs, `{"at":${at},"ttl":0,"id":"old","task":"far:1.0"}`)
    const page = await openPage(browser, registry, '')
    const jobs = page.getByRole('region', { name: 'Jobs' })
    await expect
      .poll(() => textOf(jobs))
      .toMatch(/^Jobs waiting 1 oldest due for 15 min.* Jobs scheduled 0 .* Jobs dead 2 given up$/)
    await page.getByRole('link', { name: /^Jobs Problem Over-aged in far: .* waits for 15 min/ }).click()
    await page.getByRole('link', { name: 'old', exact: true }).waitFor()
    expect(new URL(page.url()).search).toBe('?queue=far&state=waiting')
    await page.goto(registry.at('queues/office'))
    await jobs.getByRole('link', { name: 'Jobs dead' }).click()
    expect(new URL(page.url()).search).toBe('?queue=office&state=dead')
    await hub.resume('office')
  })
})

describe('what strangers put into queues', () => {
  const viewport = { width: 390, height: 844 }

  it('is shown as text, and widens no page', async () => {
    const { registry } = await office(0)
    const harm = scriptPayloads.slice(0, 40)
    const task = (text: string) => JSON.stringify(text.slice(0, 120))
    const pipeline = fixture.redis.pipeline()
    for (const [n, text] of harm.entries()) {
      const failure = JSON.stringify({ at: 1, code: text, message: text }).replace(/[{}[\]]/g, char =>
        char === '{' || char === '}' ? char : `\\u00${char.charCodeAt(0).toString(16)}`,
      )
      const part = `{"tries":1,"errors":[${failure}],"chain":"c","steps":[["office",${task(text)}]],"batch":"office/b"}`
      const rest = `"task":${task(text)},"from":${JSON.stringify(text)},"args":${JSON.stringify({ [text]: text })}`
      pipeline.zadd(keys().dead, n + 1, `{"at":1000,"ttl":0,"id":"h${n}","job":${part},${rest}}`)
    }
    pipeline.zadd(keys().dead, 99, `{"id":"huge","task":"${'W'.repeat(128)}","args":"${'x'.repeat(900_000)}"}`)
    pipeline.zadd(keys().dead, 98, 'garbage', 97, '{"task":{}}')
    pipeline.hset(
      keys().cron,
      harm[0]!,
      JSON.stringify({ cron: harm[1], task: harm[2], args: '{}', timezone: harm[3] }),
    )
    pipeline.hset(keys().batch('b'), { opened: '1', then: harm[0]!, failed: '{', done: 'x' })
    await pipeline.exec()
    const page = await openPage(browser, registry, 'jobs?state=dead', { viewport })
    await page.addInitScript("globalThis.executed = () => { throw new Error('a payload was executed') }")
    const paths = ['jobs?state=dead', 'schedules', 'jobs/huge?queue=office&state=dead&at=99']
    for (const path of [
      ...paths,
      'jobs/h0?queue=office&state=dead',
      'jobs/h7?queue=office&state=dead',
      'queues/office',
      '',
    ]) {
      await page.goto(registry.at(path))
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.getByText('Live', { exact: true }).waitFor()
      if (path.startsWith('jobs/')) await page.getByRole('heading', { name: 'Arguments' }).waitFor()
      if (path === 'jobs?state=dead') await expect.poll(() => page.getByRole('row').count()).toBe(harm.length + 2)
      expect([path, await overflows(page)]).toEqual([path, false])
      expect(await page.locator('main').locator('script, img, iframe, object, svg:not(.sparkline)').count()).toBe(0)
    }
    await page.goto(registry.at(`jobs?state=dead&q=${encodeURIComponent('<script>')}&queue=office`))
    await expect.poll(() => page.getByRole('row').count()).toBeGreaterThan(1)
    await page.goto(registry.at(`jobs?state=dead&from=${encodeURIComponent('<x>')}`))
    browser.allow(/status of 400/)
    await page.getByText('These jobs cannot be read.').waitFor()
    await page.getByRole('link', { name: 'Show all jobs in this state' }).click()
    await expect.poll(() => page.getByRole('row').count()).toBe(harm.length + 2)
  })

  it.each(['jobs', 'jobs?state=dead', 'jobs/nobody', 'schedules'])(
    '%s fits a narrow screen, in the dark',
    async path => {
      browser.allow(/status of 404/)
      const { registry, hub } = await office(2)
      await hub.schedule('nightly', { cron: '0 3 * * *' }, 'print:1.0')
      const page = await openPage(browser, registry, path, { viewport, colorScheme: 'dark' })
      await page.getByText('Live', { exact: true }).waitFor()
      await page.waitForLoadState('networkidle').catch(() => undefined)
      expect(await overflows(page)).toBe(false)
    },
  )
})
