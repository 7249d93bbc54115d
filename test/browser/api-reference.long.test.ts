import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { openPage, shopTasks, textOf } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'
import { judge } from './judge.ts'

const fixture = useRegistry()
const browser = useBrowser()

const tree = {
  type: 'object',
  properties: {
    name: { $ref: '#/$defs/name' },
    parts: { type: 'array', items: { $ref: '#' }, maxItems: 2 },
    secret: { type: 'string', format: 'password', default: 'hunter2' },
  },
  required: ['name', 'secret'],
  $defs: { name: { type: 'string', minLength: 1, examples: ["Ada's"] } },
} as const

const open = async () => {
  const registry = await fixture.registry()
  const walk = defineTask('walk:1.0', { description: '## Walks\n\nall of it.', args: tree }, async args => args)
  await fixture.worker([...shopTasks(), walk], { queue: 'images' })
  const page = await openPage(browser, registry, 'tasks', { role: 'view', viewport: { width: 1300, height: 900 } })
  await page.getByRole('link', { name: 'API reference' }).click()
  await page.getByText('4 routes').waitFor()
  const route = (task: string) => page.locator('.route').filter({ hasText: `/api/call/${task}` })
  return { registry, page, route }
}

describe('the reference of the API', () => {
  it('has each task with its schemas, headers and errors, and finds one', async () => {
    const { page, route } = await open()
    await route('resize_image:1.0').locator('summary').first().click()
    const shown = route('resize_image:1.0')
    await shown.getByText('"Pixels."').waitFor()
    for (const text of ['idempotent, waits 2500 ms', 'pshub-timeout-ms', 'InvalidArgs', 'NoWorkers', 'Unauthorized'])
      await shown.getByText(text).first().waitFor()
    await expect
      .poll(() => shown.getByRole('heading', { level: 3 }).allInnerTexts())
      .toEqual(['Example', 'Arguments', 'Result', 'Headers', 'Errors'])
    await judge(page, 'api-reference', browser)
    await page.getByRole('searchbox').fill('walk')
    await page.getByText('1 of 4 routes').waitFor()
    await expect.poll(() => new URL(page.url()).search).toBe('?q=walk')
    await page.reload()
    // The only one is open at once, and what its schema refers to is found.
    await route('walk:1.0').getByText(`Ada'\\''s`).waitFor()
    const command = await textOf(route('walk:1.0').locator('.snippet').first())
    expect(command).toContain('<secret>')
    expect(command).not.toContain('hunter2')
    await route('walk:1.0').getByText('"#/$defs/name"').waitFor()
    await expect.poll(() => textOf(route('walk:1.0').locator('summary').first())).toMatch(/Walks$/)
    await page.getByRole('searchbox').fill('zebra')
    await page.getByRole('link', { name: 'Show all routes' }).click()
    await page.getByText('4 routes', { exact: true }).waitFor()
  })
})
