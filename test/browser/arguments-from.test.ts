import { expect, it, vi } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { tokens, useRegistry } from '../support/registry-fixture.ts'
import { fourLooks } from './four-looks.ts'
import { field, fold, heading, run, tryIt } from './try-it-parts.ts'

vi.setConfig({ testTimeout: 90_000 })

const fixture = useRegistry()
const browser = useBrowser()

const order = defineTask(
  'order:1.0',
  { args: { type: 'object', properties: { sku: { type: 'string' }, count: { type: 'integer' } } }, idempotent: true },
  () => true,
)

const open = async () => {
  const registry = await fixture.registry()
  const page = await browser.page({ viewport: { width: 1300, height: 900 } })
  await page.goto(`${registry.at('tasks/order%3A1.0')}#token=${tokens.run}`)
  await tryIt(page).waitFor()
  return { page, registry }
}

it('arguments come from a job that waits, by a line of a log, and from a command', async () => {
  browser.allow(/status of 404/)
  fixture.allowLeftovers()
  await fixture.worker([order])
  const { page, registry } = await open()
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
  expect(await field(page, 'sku').inputValue()).toBe('of-a-job')
  expect(await field(page, 'count').inputValue()).toBe('3')
  await paste(`pshub call order:1.0 '{"sku":"of-a-command"}'`)
  await expect.poll(() => field(page, 'sku').inputValue()).toBe('of-a-command')
  await paste('no such thing')
  await dialog.getByRole('alert').getByText('No arguments are in it').waitFor()
  await fourLooks(browser, page, 'arguments-from')
  await dialog.getByRole('textbox').fill('hAx4WmHgRkt9nVrqo0bLmQ')
  await dialog.getByRole('button', { name: 'Fill in' }).click()
  await expect.poll(() => dialog.getByRole('alert').textContent()).toMatch(/job/i)
  await dialog.getByRole('button', { name: 'Leave it' }).click()
  expect(await field(page, 'sku').inputValue()).toBe('of-a-command')
})

it('a call goes to the queue that is chosen, with the trace that is given', async () => {
  await fixture.worker([order], { queue: 'near' })
  await fixture.worker([order], { queue: 'far' })
  const { page } = await open()
  await fold(page, 'How it is called').click()
  const queue = page.getByLabel('Queue', { exact: true })
  await expect
    .poll(() => queue.locator('option').allInnerTexts())
    .toEqual([
      'the one that had the task first',
      expect.stringMatching(/^near: .+ pid \d+ alone$/),
      expect.stringMatching(/^far: .+ pid \d+ alone$/),
    ])
  const trace = page.getByLabel('traceparent')
  await trace.fill('00-abc')
  await page.getByText('A traceparent is 00-').waitFor()
  await run(page).click()
  await page.getByRole('status').getByText('A traceparent is 00-').waitFor()
  expect(await heading(page, 'Result').count()).toBe(0)
  await page.getByRole('button', { name: 'New trace' }).click()
  const given = await trace.inputValue()
  await queue.selectOption('far')
  await fourLooks(browser, page, 'how-it-is-called')
  const asked = page.waitForRequest(/api\/call/)
  await run(page).click()
  expect((await asked).headers()).toMatchObject({ 'pshub-queue': 'far', traceparent: given })
  await heading(page, 'Result').waitFor()
  await fold(page, 'Copy as').click()
  expect(await page.locator('.snippet').textContent()).toContain("-H 'pshub-queue: far'")
})
