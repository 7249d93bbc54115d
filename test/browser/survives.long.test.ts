import { describe, expect, it } from 'vitest'
import { defineTask, type JsonSchema } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { openPage } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()

describe('a pattern that runs for ever', () => {
  it('stops no page: neither where it chooses a kind, nor a condition, nor the schema of a key', async () => {
    const endless = `^${'(a|a)'.repeat(30)}$`
    const text = `${'a'.repeat(29)}b`
    const args = {
      type: 'object',
      properties: {
        kind: {
          oneOf: [
            { title: 'endless', type: 'string', pattern: endless },
            { title: 'number', type: 'number' },
          ],
        },
        more: { type: 'object', patternProperties: { [endless]: { type: 'string' }, '^n': { type: 'number' } } },
        free: { type: 'string', pattern: endless, examples: [text] },
      },
      if: { properties: { free: { pattern: endless } }, required: ['free'] },
      then: { properties: { added: { type: 'string' } } },
      examples: [{ kind: text, more: { [text]: 'x', n1: 1 }, free: text }],
    } as const
    await fixture.worker([defineTask('endless:1.0', { args: args as object as JsonSchema }, () => 1)])
    const page = await openPage(browser, await fixture.registry(), 'tasks/endless:1.0')
    const example = page.getByRole('button', { name: 'the example' })
    await example.waitFor()
    await example.click()
    await page.locator('[data-pointer="/free"]').fill(`${text}c`)
    // What can be known is: a pattern that is no trouble chooses the schema of its key.
    await expect.poll(() => page.locator('[data-field="/more/n1"]').getAttribute('data-kind')).toBe('number')
    await page.getByText('Not checked here: it took too long. The worker decides.').waitFor()
    await page.locator('[data-pointer="/added"], [data-field="/added"]').first().waitFor()
    // The page still answers.
    await page.getByRole('tab', { name: 'JSON' }).click()
  })
})

describe('a description', () => {
  it('that takes long to read is shown piece by piece, each of them once', async () => {
    const description = `The beginning.\n\n${'*a '.repeat(6_000)}\n\nThe end.`
    await fixture.worker([defineTask('wordy:1.0', { description }, () => 1)])
    const page = await openPage(browser, await fixture.registry(), 'tasks/wordy:1.0')
    const markdown = page.locator('.markdown')
    await markdown.getByText('The beginning.').waitFor()
    expect(((await markdown.textContent()) ?? '').length).toBeLessThan(5_000)
    const more = markdown.getByRole('button', { name: 'Show more' })
    for (let left = 10; left > 0 && (await more.count()) > 0; left--) await more.click()
    await markdown.getByText('The end.').waitFor()
    await expect.poll(() => markdown.locator('p').count()).toBeGreaterThan(3)
  })
})

describe('a value that no page thought of', () => {
  it('takes its own part away, and nothing else', async () => {
    browser.allow(/content policy/)
    await fixture.worker([defineTask('plain:1.0', {}, () => 1)])
    const registry = await fixture.registry()
    const page = await openPage(browser, registry, '')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    let isBroken = true
    await page.route('**/api/tasks/plain*', async route => {
      const response = await route.fetch()
      const detail = await response.json()
      if (isBroken) detail.description = { not: 'a text' }
      await route.fulfill({ response, json: detail })
    })
    await page.goto(registry.at('tasks/plain:1.0'))
    await page.getByText('The description cannot be shown.').waitFor()
    await page.getByRole('tab', { name: 'Form' }).waitFor()
    await browser.screenshot(page, 'boundary')
    isBroken = false
    await page.getByText('No description.').waitFor()
    await page.route('**/api/schedules*', route => route.fulfill({ json: { schedules: [null, 7] } }))
    await page.goto(registry.at('schedules'))
    await page.getByText('This page cannot be shown.').waitFor()
    await page.getByRole('link', { name: 'Workers' }).click()
    await page.getByRole('heading', { name: 'Workers' }).waitFor()
  })
})
