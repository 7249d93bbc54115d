import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { violationsOn } from '../support/axe.ts'
import type { BrowserFixture } from '../support/browser.ts'

export const wide = { viewport: { width: 1300, height: 900 }, colorScheme: 'light', reducedMotion: 'reduce' } as const

/**
 * The page breaks no accessibility rule and fits its window: wide and light, then narrow and dark. Each layout and each colour is
 * judged once, in half the time of all four. With `pictures`, each look is written to test/artifacts.
 */
export const judge = async (page: Page, state: string, pictures?: BrowserFixture): Promise<void> => {
  for (const [width, colorScheme] of [
    [1300, 'light'],
    [390, 'dark'],
  ] as const) {
    const look = `${state.replaceAll(/\W+/g, '-')}-${width}-${colorScheme}`
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    // The window is as high as the page, because a sticky bar would cover what is scrolled beneath it.
    await page.setViewportSize({ width, height: 900 })
    const height = await page.evaluate<number>('document.documentElement.scrollHeight')
    await page.setViewportSize({ width, height: Math.min(height, 8000) })
    expect.soft(await violationsOn(page), look).toEqual([])
    const excess = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    expect.soft(excess, `${look}: wider than its window`).toBeLessThanOrEqual(0)
    await pictures?.screenshot(page, look)
  }
  await page.setViewportSize(wide.viewport)
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' })
}
