import type { Page } from 'playwright-core'
import { describe, expect, it, vi } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { tokens, useRegistry } from '../support/registry-fixture.ts'
import { heading, run, tryIt } from './try-it-parts.ts'

// A browser on a machine that does other things as well.
vi.setConfig({ testTimeout: 60_000 })

const text = { type: 'string' } as const
const address = {
  type: 'object',
  properties: { street: text, city: text, code: { type: 'string', maxLength: 12 }, country: text },
  required: ['street', 'city', 'country'],
} as const
const line = {
  type: 'object',
  properties: {
    sku: { type: 'string', description: 'As it stands on the shelf.' },
    count: { type: 'integer', minimum: 1 },
    tags: { type: 'array', items: text },
    gift: { type: 'boolean' },
    to: address,
  },
  required: ['sku', 'count', 'to'],
} as const

const ship = defineTask(
  'ship:1.0',
  {
    description: 'Ships what was ordered.',
    args: {
      type: 'object',
      properties: {
        order: text,
        from: address,
        secret: { type: 'string', format: 'password' },
        lines: { type: 'array', items: line },
      },
      required: ['order', 'from', 'lines'],
    },
  },
  ({ lines }) => ({ lines: lines.length }),
)

const place = (i: number) => ({
  street: `${i} Long Street`,
  city: 'Springfield',
  code: String(10_000 + i),
  country: 'DE',
})
const order = (count: number) => ({
  order: 'A-1',
  from: place(0),
  lines: Array.from({ length: count }, (_, i) => ({
    sku: `sku-${i}`,
    count: i + 1,
    tags: ['fragile', 'blue'],
    gift: i % 2 === 0,
    to: place(i),
  })),
})

const open = async (fixture: ReturnType<typeof useRegistry>, page: Page, args?: unknown) => {
  await fixture.worker([ship])
  const registry = await fixture.registry()
  const path = registry.at('tasks/ship%3A1.0')
  await page.goto(`${path}#token=${tokens.run}`)
  await tryIt(page).waitFor()
  if (args !== undefined) await fill(page, args)
  return path
}

const fill = async (page: Page, args: unknown) => {
  const packed = Buffer.from(JSON.stringify(args)).toString('base64url')
  await page.evaluate(fragment => {
    // biome-ignore lint/suspicious/noExplicitAny: the tests are checked without the types of a page
    ;(globalThis as any).location.hash = fragment
  }, `args=${packed}`)
  await page.locator('[data-fold="/lines"]').waitFor()
}

/** How often Tab is pressed from one end of a page to the other, and how high it is. */
const measure = (page: Page): Promise<{ stops: number; height: number }> =>
  page.evaluate(() => {
    // biome-ignore lint/suspicious/noExplicitAny: the tests are checked without the types of a page
    const { document } = globalThis as any
    const able = 'a[href], button, input, select, textarea, summary, [tabindex]'
    const groups = new Set<string>()
    const stops = [...document.querySelectorAll(able)].filter(one => {
      if (one.tabIndex < 0 || one.disabled || !one.checkVisibility({ visibilityProperty: true })) return false
      if (one.type !== 'radio') return true
      const isFirst = !groups.has(one.name)
      groups.add(one.name)
      return isFirst
    })
    return { stops: stops.length, height: document.documentElement.scrollHeight }
  })

describe('a long form', () => {
  const fixture = useRegistry()
  const browser = useBrowser()

  it.each([1300, 390])('is short before anything is unfolded, %i px wide', async width => {
    const page = await browser.page({ viewport: { width, height: 900 } })
    const args = order(35)
    expect(JSON.stringify(args).length).toBeGreaterThan(5_000)
    await open(fixture, page, args)
    await expect.poll(() => page.locator('[data-folded]').count()).toBeGreaterThan(5)
    const { stops, height } = await measure(page)
    expect(height).toBeLessThan(6_000)
    expect(stops).toBeLessThan(300)
    await browser.screenshot(page, `long-form-${width}`)
  })

  it('keeps the button that runs, and what came of it, in view', async () => {
    for (const width of [1300, 390]) {
      const page = await browser.page({ viewport: { width, height: 800 } })
      await open(fixture, page, order(35))
      await run(page).click()
      await heading(page, 'Result').waitFor()
      const inView = (locator: ReturnType<Page['locator']>) =>
        expect
          .poll(async () => {
            const box = (await locator.boundingBox())!
            return box.y >= 0 && box.y + box.height <= 800
          })
          .toBe(true)
      await inView(run(page))
      await inView(heading(page, 'Result'))
      await page.evaluate('scrollTo(0, 900)')
      await inView(run(page))
      expect(await page.locator('.last-run').textContent()).toMatch(/Result after/)
      if (width === 390) await browser.screenshot(page, 'long-form-run')
      await page.getByRole('button', { name: 'Show it' }).click()
      await inView(heading(page, 'Result'))
    }
  })
})
