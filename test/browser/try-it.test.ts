import { describe, expect, it } from 'vitest'
import type { Role } from '../../registry/contract.ts'
import { defineTask, TaskError } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { eventually } from '../support/hub-fixture.ts'
import { openPage, textOf } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'
import { field, fold, heading, jsonField, run, tab, tryIt } from './try-it-parts.ts'

const fixture = useRegistry()
const browser = useBrowser()

const resize = defineTask(
  'resize:1.0',
  {
    description: 'Fits an image into a box.',
    args: {
      type: 'object',
      properties: {
        width: { type: 'integer', minimum: 1, description: 'In pixels.' },
        height: { type: 'integer', minimum: 1, description: 'In pixels.' },
        box: { type: 'integer', minimum: 1, default: 800 },
        secret: { type: 'string', format: 'password' },
      },
      required: ['width', 'height'],
      additionalProperties: false,
      examples: [{ width: 4000, height: 3000, box: 800 }],
    },
    idempotent: true,
  },
  ({ width, height, box = 800 }) => {
    if (width === 13) throw new TaskError('Thirteen is <b>unlucky</b>.', { data: { reason: 'luck' } })
    const scale = Math.min(1, box / Math.max(width, height))
    return { width: Math.round(width * scale), height: Math.round(height * scale), steps: [{ name: 'scale' }] }
  },
)

const older = defineTask(
  'resize:0.9',
  {
    description: 'Fits an image.',
    args: { type: 'object', properties: { width: { type: 'number' }, mode: { enum: ['fit', 'cut'] } } },
    timeoutMs: 9000,
  },
  () => ({}),
)

/** Waits until its caller gives up, and tells of it. */
const forever = (onAbort: () => void) =>
  defineTask('forever:1.0', { timeoutMs: 60_000 }, (_args, { signal }) => {
    return new Promise(resolve => {
      signal.addEventListener('abort', () => {
        onAbort()
        resolve(null)
      })
    })
  })

const open = async (tasks: Parameters<typeof fixture.worker>[0], task: string, role: Role = 'run') => {
  await fixture.worker(tasks)
  const registry = await fixture.registry()
  const page = await openPage(browser, registry, `tasks/${task}`, { role, viewport: { width: 1400, height: 900 } })
  await tryIt(page).waitFor()
  return { page, registry }
}

describe('the try-it form', () => {
  it('runs a task, and shows its result and where the time went', async () => {
    const { page } = await open([resize], 'resize:1.0')
    await field(page, 'width').fill('4000')
    await field(page, 'height').fill('3000')
    await run(page).click()
    await heading(page, 'Result').waitFor()
    const tree = page.locator('.json-tree')
    await expect.poll(() => tree.textContent()).toMatch(/"width": 800[\s\S]*"height": 600[\s\S]*"name": "scale"/)
    for (const part of ['Backlog', 'Queue', 'Run', 'Reply', 'Total'])
      await expect
        .poll(() => page.getByRole('row', { name: new RegExp(`^${part} .*(µs|ms|s)`) }).count(), { message: part })
        .toBe(1)
    await expect
      .poll(() => page.getByRole('status').allInnerTexts())
      .toContainEqual(expect.stringMatching(/^The result came after/))
    await tab(page, 'Raw').click()
    await expect
      .poll(() => page.locator('.raw').textContent())
      .toBe('{"width":800,"height":600,"steps":[{"name":"scale"}]}')
    await field(page, 'width').fill('1000')
    await field(page, 'height').fill('500')
    await run(page).click()
    await tab(page, 'Changes').click()
    await expect.poll(() => page.locator('.changes').textContent()).toMatch(/\/height was 600, is 400/)
    await fold(page, 'Copy as').click()
    await expect.poll(() => page.locator('.snippet').textContent()).toContain(`--data-raw '{"width":1000,"height":500`)
  })

  it('lays what is wrong on its field, and leads there', async () => {
    browser.allow(/status of (400|500)/)
    const { page } = await open([resize], 'resize:1.0')
    await field(page, 'width').fill('0')
    await field(page, 'height').fill('10')
    // The form has said so itself, and the run is not sent.
    await expect.poll(() => field(page, 'width').getAttribute('aria-invalid')).toBe('true')
    await run(page).click()
    const list = page.locator('.problem-list')
    await list.waitFor()
    await expect.poll(() => list.textContent()).toContain('Not ready to run')
    await expect.poll(() => list.textContent()).toContain('/width')
    await list.getByRole('button').first().click()
    await expect.poll(() => page.locator('input[data-pointer="/width"]:focus').count()).toBe(1)
    await page.getByRole('button', { name: 'Run anyway' }).click()
    await heading(page, 'InvalidArgs').waitFor()
    await expect.poll(() => page.locator('.problem-list').textContent()).toContain('Rejected by the worker')
    await expect.poll(() => page.locator('.schema-form').textContent()).toMatch(/must be >= 1/i)
    await expect.poll(() => page.locator('.failure').textContent()).toMatch(/It did not run/)
    await field(page, 'width').fill('13')
    await expect.poll(() => page.locator('.problem-list').count()).toBe(0)
    await run(page).click()
    await heading(page, 'TaskFailed').waitFor()
    await expect
      .poll(() => page.locator('.failure').textContent())
      .toMatch(/Thirteen is <b>unlucky<\/b>\.[\s\S]*It ran\.[\s\S]*"luck"/)
  })

  it('gives up waiting when told to, and the handler hears of it', async () => {
    let heard = (): void => undefined
    const aborted = new Promise<void>(resolve => {
      heard = resolve
    })
    const { page } = await open([forever(() => heard())], 'forever:1.0')
    await run(page).click()
    await page.getByRole('timer').waitFor()
    await expect.poll(() => page.getByRole('timer').textContent()).toMatch(/Waiting [1-9]/)
    await page.getByRole('button', { name: 'Cancel' }).click()
    await heading(page, 'Aborted').waitFor()
    await expect
      .poll(() => page.locator('.failure').textContent())
      .toMatch(/It may have run[\s\S]*not declared idempotent/)
    await aborted
  })

  it('takes the timeout that is chosen', async () => {
    browser.allow(/status of 504/)
    const { page } = await open([forever(() => undefined)], 'forever:1.0')
    await page.getByRole('textbox', { name: 'Timeout' }).fill('0')
    await run(page).click()
    await expect.poll(() => page.getByText('The timeout is invalid').textContent()).toContain('at least 1 ms')
    await page.getByRole('combobox', { name: 'Unit of the timeout' }).selectOption('ms')
    await page.getByRole('textbox', { name: 'Timeout' }).fill('2000')
    await run(page).click()
    await heading(page, 'Timeout').waitFor()
  })

  it('keeps the form and the JSON alike', async () => {
    const { page } = await open([resize], 'resize:1.0')
    await field(page, 'width').fill('7')
    await tab(page, 'JSON').click()
    expect(JSON.parse(await jsonField(page).inputValue())).toMatchObject({ width: 7 })
    await expect.poll(() => page.url()).toContain('#as=json')
    await jsonField(page).fill('{\n  "width": 0.12345678901234567890\n}')
    await page.getByText('Line 2, column 12').waitFor()
    await expect.poll(() => tab(page, 'Form').getAttribute('aria-disabled')).toBe('true')
    await tab(page, 'Form').click({ force: true })
    await expect.poll(() => jsonField(page).count()).toBe(1)
    await run(page).click()
    await page.getByText('The arguments cannot be sent: line 2, column 12.').waitFor()
    await jsonField(page).fill('{"width": 9, "height": 3}')
    await tab(page, 'Form').click()
    await expect.poll(() => field(page, 'width').inputValue()).toBe('9')
    await page.getByLabel('File with arguments as JSON').setInputFiles({
      name: 'a.json',
      mimeType: 'application/json',
      buffer: Buffer.from('{"width": 21, "height": 4}'),
    })
    await expect.poll(() => field(page, 'width').inputValue()).toBe('21')
  })

  it('can be used with the keyboard alone', async () => {
    const { page } = await open([resize], 'resize:1.0')
    const focused = (selector: string) => page.locator(`${selector}:focus`).count()
    const tabTo = async (selector: string) => {
      for (let steps = 0; (await focused(selector)) === 0; steps++) {
        expect(steps, `${selector} is reached`).toBeLessThan(60)
        await page.keyboard.press('Tab')
      }
    }
    await tabTo('[role=tab]')
    await page.keyboard.press('ArrowRight')
    await expect.poll(() => tab(page, 'JSON').getAttribute('aria-selected')).toBe('true')
    await page.keyboard.press('Home')
    await tabTo('input[data-pointer="/width"]')
    await page.keyboard.type('8')
    await tabTo('input[data-pointer="/height"]')
    await page.keyboard.type('6')
    await page.keyboard.press('Control+Enter')
    await heading(page, 'Result').waitFor()
    await tabTo('button.run')
    await page.keyboard.press('Enter')
    await expect.poll(() => page.locator('summary', { hasText: 'History' }).textContent()).toMatch(/2/)
  })

  it('says why somebody may not run', async () => {
    const { page } = await open([resize], 'resize:1.0', 'view')
    await page.getByText('This needs the role run').waitFor()
    await expect.poll(() => run(page).getAttribute('aria-disabled')).toBe('true')
    await run(page).click({ force: true })
    await page.locator('.notice', { hasText: 'This needs the role run' }).waitFor()
    await expect.poll(() => page.getByText('Run the task to see its result').count()).toBe(1)
  })
})

describe('two versions of a task', () => {
  it('are compared', async () => {
    const { page, registry } = await open([resize, older], 'resize:1.0')
    await page.goto(registry.at('tasks/resize:1.0?part=versions'))
    const versions = page.getByRole('region', { name: 'What changed between two versions' })
    await versions.waitFor()
    const text = await versions.textContent()
    expect(text).toMatch(/breaks callers\s*\/width Type was number, is integer\./)
    expect(text).toMatch(/needs review\s*timeout Was 9 s, is 5 s/)
    await expect.poll(() => versions.locator('.line[data-sign="-"]').first().textContent()).toMatch(/^removed: /)
    await page.getByRole('button', { name: 'Swap' }).click()
    await expect.poll(() => versions.textContent()).toMatch(/Type was integer, is number/)
  })
})

describe('a task that yields', () => {
  it('shows its chunks and its progress as they come, and how it ended', async () => {
    let goOn = false
    const yields = { type: 'string', description: 'A word.' } as const
    const chat = defineTask('chat:1.0', { timeoutMs: 300_000, yields }, async function* (_, ctx) {
      yield 'Hello'
      ctx.progress({ done: 3, total: 10, message: 'thinking' })
      await eventually(() => goOn, 120_000)
      yield ', <b>you</b>'
      return { words: 2 }
    })
    await fixture.worker([chat])
    const page = await openPage(browser, await fixture.registry(), 'tasks/chat:1.0')
    await run(page).click()
    const chunks = tryIt(page).getByRole('region', { name: 'Chunks' })
    await expect.poll(() => textOf(chunks)).toMatch(/3 of 10 thinking 1 chunk Hello$/)
    await expect.poll(() => chunks.getByRole('progressbar').getAttribute('value')).toBe('3')
    goOn = true
    await tryIt(page).getByRole('heading', { name: 'Result' }).waitFor()
    await expect.poll(() => textOf(chunks)).toBe('2 chunks Hello, <b>you</b>')
    await expect.poll(() => textOf(tryIt(page).locator('.outcome'))).toContain('words')
    await page.getByRole('link', { name: 'Schema' }).click()
    await expect.poll(() => textOf(page.locator('.schemas'))).toMatch(/Arguments .* Result .* Each chunk .*"A word\."/)
  })

  it('tells of a job how far it is', async () => {
    fixture.allowLeftovers()
    let goOn = false
    const long = defineTask('long:1.0', {}, async (_, ctx) => {
      ctx.progress({ done: 3, total: 4, message: 'page 3' })
      await eventually(() => goOn, 120_000)
    })
    await fixture.worker([long])
    const job = await fixture.hub().enqueue(long, {}, { tracked: true })
    const page = await openPage(browser, await fixture.registry(), `jobs/${job.id}`)
    const fact = page.locator('.told-progress')
    await expect.poll(() => textOf(fact)).toBe('3 of 4 page 3')
    goOn = true
    await expect.poll(() => fact.count()).toBe(0)
  })
})
