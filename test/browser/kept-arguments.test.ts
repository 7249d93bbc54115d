import type { Page } from 'playwright-core'
import { describe, expect, it, vi } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { tokens, useRegistry } from '../support/registry-fixture.ts'
import { field, tryIt } from './try-it-parts.ts'

// A browser on a machine that does other things as well.
vi.setConfig({ testTimeout: 60_000 })

const greet = defineTask(
  'greet:1.0',
  {
    args: {
      type: 'object',
      properties: {
        name: { type: 'string' },
        note: { type: 'string', maxLength: 60 },
        pin: { type: 'string', writeOnly: true },
      },
      required: ['name'],
    },
  },
  ({ name }) => `Hello ${name}`,
)

const paste = async (page: Page, text: string) => {
  // biome-ignore lint/suspicious/noExplicitAny: the tests are checked without the types of a page
  await page.evaluate(text => (globalThis as any).navigator.clipboard.writeText(text), text)
  await page.keyboard.press('Control+V')
}

describe('arguments that were typed', () => {
  const fixture = useRegistry()
  const browser = useBrowser()
  const open = async () => {
    await fixture.worker([greet])
    const registry = await fixture.registry()
    const page = await browser.page({ permissions: ['clipboard-read', 'clipboard-write'] })
    const path = registry.at('tasks/greet%3A1.0')
    await page.goto(`${path}#token=${tokens.run}`)
    await tryIt(page).waitFor()
    return { page, path }
  }
  const value = async (page: Page, name: string) => {
    await tryIt(page).waitFor()
    return field(page, name).inputValue()
  }

  it('keep their line breaks when they are pasted', async () => {
    const { page } = await open()
    for (const name of ['name', 'note', 'pin']) {
      await field(page, name).click()
      await paste(page, 'one\ntwo')
      await expect.poll(() => field(page, name).inputValue(), { message: name }).toBe('one\ntwo')
      expect(await page.locator(':focus').getAttribute('data-pointer')).toBe(`/${name}`)
    }
    // What is typed on goes on: nothing took the focus.
    await field(page, 'name').press('End')
    await page.keyboard.press('Enter')
    await page.keyboard.type('three')
    expect(await field(page, 'name').inputValue()).toBe('one\ntwo\nthree')
  })

  it('are there after Back, a reload and the end of the session, without secrets, and not after a log-out', async () => {
    browser.allow(/status of 401/)
    const { page, path } = await open()
    await field(page, 'name').fill('Ada')
    await field(page, 'pin').fill('4711')
    await page.reload()
    expect([await value(page, 'name'), await value(page, 'pin')]).toEqual(['Ada', ''])
    await field(page, 'name').fill('Grace')
    await page.getByRole('link', { name: 'Queues' }).click()
    await page.getByRole('heading', { name: 'Queues' }).waitFor()
    await page.goBack()
    expect(await value(page, 'name')).toBe('Grace')
    await field(page, 'name').fill('Joan')
    await page.context().clearCookies()
    // The next request is refused.
    await page.getByLabel('Token').waitFor()
    await page.getByLabel('Token').fill(tokens.run)
    await page.keyboard.press('Enter')
    expect(await value(page, 'name')).toBe('Joan')
    expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain('4711')
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByLabel('Token').waitFor()
    expect(await page.evaluate('JSON.stringify(sessionStorage)')).not.toContain('Joan')
    await page.goto(`${path}#token=${tokens.run}`)
    expect(await value(page, 'name')).toBe('')
  })

  it('count more than the link they began with, and less than another one', async () => {
    const { page, path } = await open()
    const link = (name: string) => `args=${Buffer.from(JSON.stringify({ name })).toString('base64url')}`
    await page.goto(`${path}#${link('Ada')}`)
    await expect.poll(() => value(page, 'name')).toBe('Ada')
    await field(page, 'name').fill('Ada Lovelace')
    await page.reload()
    expect(await value(page, 'name')).toBe('Ada Lovelace')
    await page.goto('about:blank')
    await page.goto(`${path}#${link('Grace')}`)
    await expect.poll(() => value(page, 'name')).toBe('Grace')
  })
})
