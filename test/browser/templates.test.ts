import { expect, it, vi } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useBrowser } from '../support/browser.ts'
import { tokens, useRegistry } from '../support/registry-fixture.ts'
import { fourLooks } from './four-looks.ts'
import { field, fold, tryIt } from './try-it-parts.ts'

vi.setConfig({ testTimeout: 90_000 })

const fixture = useRegistry()
const browser = useBrowser()

const order = defineTask(
  'order:1.0',
  { args: { type: 'object', properties: { sku: { type: 'string' }, code: { type: 'string', format: 'password' } } } },
  () => true,
)

it('arguments get a name, without secrets, and somebody else uses and deletes them', async () => {
  await fixture.worker([order])
  const registry = await fixture.registry()
  const open = async (role: string) => {
    const page = await browser.page({ viewport: { width: 1300, height: 900 } })
    await page.goto(`${registry.at('tasks/order%3A1.0')}#token=${role}`)
    await tryIt(page).waitFor()
    await fold(page, 'Templates').click()
    return page
  }
  const page = await open(tokens.run)
  await field(page, 'sku').fill('a-1')
  await field(page, 'code').fill('hush')
  await page.getByLabel('Save these arguments as').fill('the <b>usual</b>')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByText('the <b>usual</b> is saved, without its secret fields.').waitFor()
  const kept = await fixture.redis.get(makeKeys(fixture.namespace).template('order:1.0', 0))
  expect(JSON.parse(kept!)).toMatchObject({ args: { sku: 'a-1' }, isWhole: false })
  expect(kept).not.toContain('hush')
  await fourLooks(browser, page, 'templates')

  const looking = await open(tokens.view)
  await looking.getByRole('button', { name: 'Use the <b>usual</b>' }).click()
  await expect.poll(() => field(looking, 'sku').inputValue()).toBe('a-1')
  expect(await looking.getByRole('button', { name: /^Delete the/ }).getAttribute('aria-disabled')).toBe('true')

  const other = await open(tokens.admin)
  await other.getByRole('button', { name: /^Delete the/ }).click()
  await other.getByText('the <b>usual</b> is deleted.').waitFor()
  expect(await other.locator('.templates').count()).toBe(0)
})
