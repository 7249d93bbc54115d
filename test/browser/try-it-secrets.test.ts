import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { openPage } from '../support/pages-fixture.ts'
import { tokens, useRegistry } from '../support/registry-fixture.ts'
import { field, fold, heading, jsonField, run, tab, tryIt } from './try-it-parts.ts'

const fixture = useRegistry()
const browser = useBrowser()

const size = { type: 'integer', minimum: 1 } as const
const resize = defineTask(
  'resize:1.0',
  {
    args: {
      type: 'object',
      properties: {
        width: size,
        height: size,
        note: { type: 'string' },
        secret: { type: 'string', format: 'password' },
      },
      required: ['width', 'height'],
    },
  },
  ({ width, height }) => width * height,
)

const open = async (tasks: Parameters<typeof fixture.worker>[0], task: string) => {
  await fixture.worker(tasks)
  const registry = await fixture.registry()
  const page = await openPage(browser, registry, `tasks/${task}`, { role: 'run' })
  await tryIt(page).waitFor()
  return { page, path: registry.at(`tasks/${task}`) }
}

it('keeps runs and shares arguments, both without secrets', async () => {
  const { page, path } = await open([resize], 'resize:1.0')
  await tab(page, 'JSON').click()
  await jsonField(page).fill('{"width": 40, "height": 30, "secret": "hush"}')
  await run(page).click()
  await heading(page, 'Result').waitFor()
  await page.getByRole('button', { name: 'Share link' }).click()
  await page.getByText('Secret fields were left out.').waitFor()
  const link = page.url()
  expect(link).toMatch(/#as=json&args=/)
  await expect.poll(() => page.evaluate('JSON.stringify(localStorage)')).not.toContain('hush')

  await fold(page, 'Copy as').click()
  const snippet = page.locator('pre.snippet')
  await expect.poll(() => snippet.textContent()).toContain('<secret>')
  await expect.poll(() => snippet.textContent()).not.toContain('hush')
  await page.getByLabel('fill in values that may be secret').check()
  await expect.poll(() => snippet.textContent()).toContain('hush')

  await page.goto('about:blank')
  await page.goto(link)
  await expect.poll(() => jsonField(page).inputValue()).toMatch(/"width": 40/)
  await expect.poll(() => jsonField(page).inputValue()).not.toContain('secret')

  await page.goto('about:blank')
  await page.goto(path)
  await fold(page, 'History').click()
  await page.getByRole('button', { name: 'Use again' }).click()
  await expect.poll(() => field(page, 'width').inputValue()).toBe('40')
  await page.getByText('without their secret fields').waitFor()
  await page.getByRole('button', { name: 'Clear history' }).click()
  await expect.poll(() => page.getByRole('button', { name: 'Use again' }).count()).toBe(0)
})

it('keeps nothing of arguments that cannot be judged, and nothing at all after a log-out', async () => {
  const beyond = defineTask(
    'beyond:1.0',
    { args: { type: 'object', description: 'x'.repeat(70_000), properties: { a: { format: 'password' } } } },
    () => 1,
  )
  const { page, path } = await open([resize, beyond], 'beyond:1.0')
  const kept = () => page.evaluate('JSON.stringify(localStorage)') as Promise<string>
  await jsonField(page).fill('{"a": "hush"}')
  await run(page).click()
  await heading(page, 'Result').waitFor()
  await page.getByRole('button', { name: 'Share link' }).click()
  await page.getByText('These arguments may be secret, so they cannot be shared by link.').waitFor()
  await expect.poll(() => kept()).toContain('beyond:1.0')
  await expect.poll(() => kept()).not.toContain('hush')

  await page.goto(`${path.replace('beyond', 'resize')}#as=json`)
  await jsonField(page).fill('{"width": 40, "height": 30}')
  await run(page).click()
  await heading(page, 'Result').waitFor()
  await expect.poll(() => kept()).toContain('resize:1.0')
  await page.evaluate('sessionStorage.setItem("pshub-draft", "x")')
  browser.allow(/401/)
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByRole('heading', { name: 'Log in' }).waitFor()
  await expect.poll(() => kept()).not.toContain('pshub-runs')
  await expect.poll(() => page.evaluate('sessionStorage.length')).toBe(0)
  await expect.poll(() => new URL(page.url()).hash).toBe('')
})

const value = async (page: Page, name: string) => {
  await tryIt(page).waitFor()
  return field(page, name).inputValue()
}

it('arguments outlive Back, a reload and the end of the session, without secrets, but not a log-out', async () => {
  browser.allow(/status of 401/)
  const { page, path } = await open([resize], 'resize:1.0')
  await field(page, 'note').fill('Ada')
  await field(page, 'secret').fill('hush')
  await page.reload()
  await expect.poll(async () => [await value(page, 'note'), await value(page, 'secret')]).toEqual(['Ada', ''])
  await field(page, 'note').fill('Grace')
  await page.getByRole('link', { name: 'Queues' }).click()
  await page.getByRole('heading', { name: 'Queues' }).waitFor()
  await page.goBack()
  await expect.poll(() => value(page, 'note')).toBe('Grace')
  await field(page, 'note').fill('Joan')
  await page.context().clearCookies()
  // The next request is refused.
  await page.getByLabel('Token').waitFor()
  await page.getByLabel('Token').fill(tokens.run)
  await page.keyboard.press('Enter')
  await expect.poll(() => value(page, 'note')).toBe('Joan')
  await expect.poll(() => page.evaluate('JSON.stringify(sessionStorage)')).not.toContain('hush')
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByLabel('Token').waitFor()
  await expect.poll(() => page.evaluate('JSON.stringify(sessionStorage)')).not.toContain('Joan')
  await page.goto(`${path}#token=${tokens.run}`)
  await expect.poll(() => value(page, 'note')).toBe('')
})
