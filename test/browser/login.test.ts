import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { eventually, failure } from '../support/hub-fixture.ts'
import { openPage, shopTasks, textOf } from '../support/pages-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { tokens, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()

const failed = async () => {
  const registry = await fixture.registry()
  await fixture.worker(shopTasks())
  await failure(fixture.hub().call('always_fails:1.0', {}))
  return registry
}

describe('who comes without a token', () => {
  it('logs in on the spot, and out again', async () => {
    browser.allow(/status of 401/)
    const registry = await failed()
    const page = await browser.page()
    await page.goto(registry.at('tasks?q=resize'))
    await page.getByLabel('Token').fill('not the right one')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('alert').getByText('This token is not valid.').waitFor()
    await page.getByLabel('Token').fill(tokens.view)
    await page.keyboard.press('Enter')
    await page.getByText('2 of 3 tasks').waitFor()
    await expect.poll(() => textOf(page.locator('.who'))).toContain('view')
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByLabel('Token').waitFor()
    await page.reload()
    await page.getByLabel('Token').waitFor()
  })

  it('is let in by a link with a token, also where the page is open already', async () => {
    browser.allow(/status of 401/)
    const registry = await failed()
    const page = await browser.page()
    const follow = (token: string) => page.evaluate(`location.href = '#token=' + encodeURIComponent('${token}')`)
    await page.goto(registry.at('tasks'))
    await page.getByLabel('Token').waitFor()
    await follow(tokens.view)
    await page.getByText('3 tasks').waitFor()
    await expect.poll(() => textOf(page.locator('.who'))).toContain('view')
    await follow(tokens.admin)
    await expect.poll(() => textOf(page.locator('.who'))).toContain('admin')
    await expect.poll(() => page.url()).not.toContain('#')
  })

  it('is told that a registry is read-only', async () => {
    const registry = await fixture.registry({ readOnly: true })
    await fixture.worker(shopTasks(), { queue: 'images' })
    const page = await openPage(browser, registry, 'queues')
    await page.getByRole('button', { name: 'Pause images: This registry is read-only.' }).waitFor()
    await expect.poll(() => textOf(page.locator('.who'))).toContain('read-only')
  })
})

describe('logging out', () => {
  it('says when it did not succeed, because then one is still logged in', async () => {
    browser.allow(/ERR_FAILED|status of 401/)
    const page = await openPage(browser, await failed(), 'failures')
    await page.getByText('the printer is on fire').waitFor()
    await page.route('**/api/logout', route => route.abort())
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('alert').getByText('The registry cannot be reached.').waitFor()
    await page.unroute('**/api/logout')
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByLabel('Token').waitFor()
  })

  it('ends other pages of the same browser, too, and one comes back to the same view', async () => {
    browser.allow(/status of 401/)
    const page = await openPage(browser, await failed(), 'failures?code=TaskFailed', { role: 'view' })
    await page.getByText('the printer is on fire').waitFor()
    const other = await page.context().newPage()
    await other.goto(page.url())
    await other.getByText('the printer is on fire').waitFor()
    await other.getByRole('button', { name: 'Log out' }).click()
    await page.getByLabel('Token').waitFor()
    await expect.poll(() => page.getByText('the printer is on fire').count()).toBe(0)
    // Keys go to the page that is in front.
    await page.bringToFront()
    await page.getByLabel('Token').fill(tokens.view)
    await page.getByLabel('Token').press('Enter')
    await page.getByText('the printer is on fire').waitFor()
    await expect.poll(() => new URL(page.url()).search).toBe('?code=TaskFailed')
  })
})

it('what is hidden of a job is shown on demand, and stays when the rest is edited', async () => {
  fixture.allowLeftovers()
  const word = 'hunter2-and-more'
  const seen: unknown[] = []
  const properties = { user: { type: 'string' }, word: { type: 'string', format: 'password', minLength: 12 } } as const
  await fixture.worker([
    defineTask('login:1.0', { args: { type: 'object', properties }, retries: 0 }, given => {
      seen.push(given)
      if (given.user === 'nobody') throw new Error('there is no such user')
    }),
  ])
  const job = await fixture.hub().enqueue('login:1.0', { user: 'nobody', word })
  await eventually(async () => (await fixture.redis.zcard(queueKeys(fixture).dead)) === 1)
  const registry = await fixture.registry()
  const path = `jobs/${job.id}?queue=q&state=dead`
  const looking = await openPage(browser, registry, path, { role: 'view' })
  await looking.getByText('Some of the arguments is hidden').waitFor()
  const button = looking.getByRole('button', { name: /^Show it/ })
  await expect.poll(() => button.getAttribute('aria-disabled')).toBe('true')
  const page = await openPage(browser, registry, path)
  await page.getByText('Some of the arguments is hidden').waitFor()
  await expect.poll(() => page.content()).not.toContain(word)
  await page.getByRole('button', { name: /^Show it/ }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Show it' }).click()
  await page.getByText(word).waitFor()
  await expect.poll(() => textOf(page.locator('main'))).not.toContain('Some of the arguments is hidden')
  await page.reload()
  await page.getByRole('button', { name: 'Edit and retry' }).click()
  await page.getByText('Hidden values do not change').waitFor()
  await page.getByRole('textbox', { name: 'user' }).fill('somebody')
  await page.getByRole('button', { name: 'Retry with these arguments' }).click()
  await eventually(async () => seen.length === 2)
  expect(seen[1]).toEqual({ user: 'somebody', word })
})
