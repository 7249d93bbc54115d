import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import type { Role } from '../../registry/contract.ts'
import { defineTask } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useBrowser } from '../support/browser.ts'
import { openPage } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'
import { judge } from './judge.ts'
import { field, fold, heading, jsonField, run, tab, tryIt } from './try-it-parts.ts'

const fixture = useRegistry()
const browser = useBrowser()
const viewport = { width: 1300, height: 900 }

const open = async (tasks: Parameters<typeof fixture.worker>[0], task: string, options = {}) => {
  await fixture.worker(tasks)
  const registry = await fixture.registry()
  const page = await openPage(browser, registry, `tasks/${task}`, { role: 'run', viewport, ...options })
  await tryIt(page).waitFor()
  return { page, registry }
}

const order = defineTask(
  'order:1.0',
  {
    args: {
      type: 'object',
      properties: { sku: { type: 'string' }, count: { type: 'integer' }, code: { type: 'string', format: 'password' } },
    },
    idempotent: true,
  },
  () => true,
)

const resize = defineTask(
  'resize:1.0',
  {
    args: {
      type: 'object',
      properties: {
        width: { type: 'integer', description: 'In pixels.', default: 800 },
        mode: { enum: ['fit', 'cut', 'fill'] },
        border: { type: 'object', properties: { colour: { type: 'string', examples: ['red', 'blue'] } } },
      },
      required: ['width'],
    },
  },
  args => args,
)

it('arguments come from a job that waits, by a line of a log, and from a command', async () => {
  fixture.allowLeftovers()
  const { page, registry } = await open([order], 'order:1.0')
  const answer = await registry.post('api/enqueue/order:1.0', {
    args: { sku: 'of-a-job', count: 3 },
    options: { delayMs: 3_600_000, tracked: true },
  })
  const { id } = (await answer.json()) as { id: string }
  const dialog = page.getByRole('dialog')
  const paste = async (text: string) => {
    await page.getByRole('button', { name: 'From a job, a log…' }).click()
    await dialog.getByRole('textbox').fill(text)
    await dialog.getByRole('button', { name: 'Fill in' }).click()
  }
  await paste(`worker_1 | {"level":30,"task":"order:1.0","id":"${id}","msg":"jobs enqueued"}`)
  await page.getByText(`The arguments of job ${id} are filled in.`).waitFor()
  await expect.poll(() => field(page, 'sku').inputValue()).toBe('of-a-job')
  await expect.poll(() => field(page, 'count').inputValue()).toBe('3')
  await paste(`pshub call order:1.0 '{"sku":"of-a-command"}'`)
  await expect.poll(() => field(page, 'sku').inputValue()).toBe('of-a-command')
  await expect.poll(() => field(page, 'sku').inputValue()).toBe('of-a-command')
})

it('a call goes to the queue that is chosen, with the trace that is given', async () => {
  await fixture.worker([order], { queue: 'near' })
  await fixture.worker([order], { queue: 'far' })
  const page = await openPage(browser, await fixture.registry(), 'tasks/order:1.0', { role: 'run', viewport })
  await fold(page, 'Call options').click()
  const queue = page.getByLabel('Queue', { exact: true })
  await expect
    .poll(() => queue.locator('option').allInnerTexts())
    .toEqual([
      'first queue of the task',
      expect.stringMatching(/^near: .+ pid \d+ alone$/),
      expect.stringMatching(/^far: .+ pid \d+ alone$/),
    ])
  const trace = page.getByLabel('traceparent')
  await trace.fill('00-abc')
  await page.getByText('A traceparent is 00-').waitFor()
  await run(page).click()
  await page.getByRole('status').getByText('A traceparent is 00-').waitFor()
  await expect.poll(() => heading(page, 'Result').count()).toBe(0)
  await page.getByRole('button', { name: 'New trace' }).click()
  const given = await trace.inputValue()
  await queue.selectOption('far')
  await judge(page, 'how-it-is-called', browser)
  const asked = page.waitForRequest(/api\/call/)
  await run(page).click()
  expect((await asked).headers()).toMatchObject({ 'pshub-queue': 'far', traceparent: given })
  await heading(page, 'Result').waitFor()
  await fold(page, 'Copy as').click()
  await expect.poll(() => page.locator('.snippet').textContent()).toContain("-H 'pshub-queue: far'")
})

const openJson = async () => {
  const { page } = await open([resize], 'resize:1.0')
  await tab(page, 'JSON').click()
  await jsonField(page).fill('')
  return page
}
const options = (page: Page) => page.locator('.offers [role=option]')
const chosen = (page: Page) => page.locator('.offers [aria-selected=true]')
/** What a screen reader is told that the field is on. */
const active = async (page: Page) => {
  const id = await jsonField(page).getAttribute('aria-activedescendant')
  return id === null ? null : page.locator(`[id="${id}"] code`).textContent()
}

it('JSON is completed with the keyboard alone, from a bare { to a run', async () => {
  const page = await openJson()
  await jsonField(page).focus()
  await page.keyboard.type('{')
  await expect.poll(() => options(page).locator('code').allInnerTexts()).toEqual(['width', 'mode', 'border'])
  // Nothing was begun: Enter is a new line.
  await expect.poll(() => active(page)).toBeNull()
  await page.keyboard.press('Enter')
  await expect.poll(() => jsonField(page).inputValue()).toBe('{\n')
  await page.keyboard.type('"w')
  await expect.poll(() => active(page)).toBe('width')
  await expect.poll(() => options(page).first().textContent()).toContain('integer · required · In pixels.')
  await page.keyboard.press('Enter')
  await expect.poll(() => options(page).locator('code').allInnerTexts()).toEqual(['800'])
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  await page.keyboard.type(',')
  await expect.poll(() => options(page).locator('code').allInnerTexts()).toEqual(['mode', 'border'])
  await page.keyboard.type('mo')
  await page.keyboard.press('Enter')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  await expect.poll(() => active(page)).toBe('"cut"')
  await expect.poll(() => chosen(page).count()).toBe(1)
  await page.keyboard.press('Enter')
  await expect.poll(() => jsonField(page).inputValue()).toBe('{\n"width": 800,"mode": "cut"')
  await page.keyboard.type(', ')
  await page.keyboard.press('Control+ ')
  await page.keyboard.press('Enter')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('Enter')
  // Within the braces that were written, the next keys are offered at once.
  await expect.poll(() => options(page).locator('code').allInnerTexts()).toEqual(['colour'])
  await page.keyboard.press('Escape')
  await expect.poll(() => options(page).count()).toBe(0)
  await page.keyboard.press('End')
  await page.keyboard.type('}')
  await page.keyboard.press('Control+Enter')
  await heading(page, 'Result').waitFor()
  expect(JSON.parse(await jsonField(page).inputValue())).toEqual({ width: 800, mode: 'cut', border: {} })
  // What was taken can be taken back.
  await page.keyboard.press('Control+Z')
  await page.keyboard.press('Control+Z')
  await expect.poll(() => jsonField(page).inputValue()).not.toContain('{}')
})

it('arguments get a name, and are kept without their secrets', async () => {
  fixture.allowLeftovers()
  await fixture.worker([order])
  const registry = await fixture.registry()
  const open = async (role: Role) => {
    const page = await openPage(browser, registry, 'tasks/order:1.0', { role, viewport })
    await tryIt(page).waitFor()
    await fold(page, 'Templates').click()
    return page
  }
  const page = await open('run')
  await field(page, 'sku').fill('a-1')
  await field(page, 'code').fill('hush')
  await page.getByLabel('Save these arguments as').fill('the <b>usual</b>')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('the <b>usual</b> is saved, without its secret fields.').waitFor()
  const kept = await fixture.redis.get(makeKeys(fixture.namespace).template('order:1.0', 0))
  expect(JSON.parse(kept!)).toMatchObject({ args: { sku: 'a-1' }, isWhole: false })
  expect(kept).not.toContain('hush')
  await judge(page, 'templates', browser)
})
