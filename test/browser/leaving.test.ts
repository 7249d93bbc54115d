import { describe, expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { failure } from '../support/hub-fixture.ts'
import { look, openPage, overflows, shopTasks } from '../support/pages-fixture.ts'
import { tokens, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()

const failed = async () => {
  const registry = await fixture.registry()
  await fixture.worker(shopTasks())
  await failure(fixture.hub().call('always_fails:1.0', {}))
  return registry
}

describe('logging out', () => {
  it('says when it did not succeed, because then one is still logged in', async () => {
    browser.allow(/ERR_FAILED|status of 401/)
    const page = await openPage(browser, await failed(), 'failures', { viewport: { width: 390, height: 844 } })
    await page.getByText('the printer is on fire').waitFor()
    await page.route('**/api/logout', route => route.abort())
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('alert').getByText('The registry cannot be reached.').waitFor()
    expect(await overflows(page)).toBe(false)
    await look(browser, page, 'not-logged-out')
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
    expect(await page.getByText('the printer is on fire').count()).toBe(0)
    await page.getByLabel('Token').fill(tokens.view)
    await page.keyboard.press('Enter')
    await page.getByText('the printer is on fire').waitFor()
    expect(new URL(page.url()).search).toBe('?code=TaskFailed')
  })
})

it('a refusal of the service is shown in its own words, on lists of calls', async () => {
  browser.allow(/status of 429/)
  const registry = await failed()
  const page = await openPage(browser, registry, '')
  await page.getByRole('heading', { name: 'Overview' }).waitFor()
  const error = { code: 'TooManyRequests', message: 'Too many requests; try again in 7 s.' }
  for (const path of ['failures', 'slow'] as const) {
    await page.route(`**/api/${path}*`, route => route.fulfill({ status: 429, json: { error } }))
    await page.goto(registry.at(path))
    await page.getByText('Too many requests; try again in 7 s. It is tried again.').waitFor()
  }
})
