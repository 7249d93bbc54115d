import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { violationsOn } from '../support/axe.ts'
import type { BrowserFixture } from '../support/browser.ts'

/** What is shown breaks no rule of accessibility and is not wider than its window: wide and narrow, light and dark, each pictured. */
export const fourLooks = async (browser: BrowserFixture, page: Page, name: string): Promise<void> => {
  for (const width of [1300, 390])
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      // As high as all of it: what sticks to an edge of a window covers what is scrolled beneath it.
      await page.setViewportSize({ width, height: 900 })
      const height = await page.evaluate<number>('document.documentElement.scrollHeight')
      await page.setViewportSize({ width, height: Math.min(height, 8000) })
      const look = `${name}-${width}-${colorScheme}`
      expect.soft(await violationsOn(page), look).toEqual([])
      const wider = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      expect.soft(wider, `${look}: wider than its window`).toBeLessThanOrEqual(0)
      await browser.screenshot(page, look)
    }
  await page.setViewportSize({ width: 1300, height: 900 })
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
}
