import { describe, expect, it, vi } from 'vitest'
import { defineTask, type JsonSchema } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { openPage } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'
import { heading, jsonField, run } from './try-it-parts.ts'

vi.setConfig({ testTimeout: 60_000 })

const fixture = useRegistry()
const browser = useBrowser()
const resize = defineTask('resize:1.0', {}, () => 1)

describe('a browser', () => {
  it('keeps nothing of arguments that cannot be judged, and nothing at all after a log-out', async () => {
    const beyond = defineTask(
      'beyond:1.0',
      {
        args: {
          type: 'object',
          description: 'x'.repeat(70_000),
          properties: { a: { format: 'password' } },
        } as object as JsonSchema,
      },
      () => 1,
    )
    await fixture.worker([resize, beyond])
    const registry = await fixture.registry()
    const path = registry.at('tasks/beyond:1.0')
    const page = await openPage(browser, registry, 'tasks/beyond:1.0')
    const kept = () => page.evaluate('JSON.stringify(localStorage)') as Promise<string>
    await jsonField(page).fill('{"a": "hush"}')
    await run(page).click()
    await heading(page, 'Result').waitFor()
    await page.getByRole('button', { name: 'Share link' }).click()
    await page.getByText('These arguments may be secret, so there is no link to them.').waitFor()
    expect(await kept()).toContain('beyond:1.0')
    expect(await kept()).not.toContain('hush')

    await page.goto(`${path.replace('beyond', 'resize')}#as=json`)
    await jsonField(page).fill('{"width": 40, "height": 30}')
    await run(page).click()
    await heading(page, 'Result').waitFor()
    expect(await kept()).toContain('resize:1.0')
    await page.evaluate('sessionStorage.setItem("pshub-draft", "x")')
    browser.allow(/401/)
    await page.getByRole('button', { name: 'Log out' }).click()
    await page.getByRole('heading', { name: 'Log in' }).waitFor()
    expect(await kept()).not.toContain('pshub-runs')
    expect(await page.evaluate('sessionStorage.length')).toBe(0)
    expect(new URL(page.url()).hash).toBe('')
  })
})
