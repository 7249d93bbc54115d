import type { Page } from 'playwright-core'

/** Where things are on the page of a task. */

export const tryIt = (page: Page) => page.getByRole('region', { name: 'Try it' })
export const run = (page: Page) => page.getByRole('button', { name: 'Run', exact: false }).first()
export const tab = (page: Page, name: string) => page.getByRole('tab', { name, exact: true })
export const field = (page: Page, name: string) => page.locator(`[data-pointer="/${name}"]`)
export const jsonField = (page: Page) => page.getByRole('textbox', { name: 'Arguments as JSON' })
export const heading = (page: Page, name: string) => page.getByRole('heading', { name })
export const fold = (page: Page, name: string) => page.locator('summary', { hasText: name })
