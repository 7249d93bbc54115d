import type { BrowserContextOptions, Locator, Page } from 'playwright-core'
import type { Role } from '../../registry/contract.ts'
import { defineTask, type Task } from '../../src/index.ts'
import type { BrowserFixture } from './browser.ts'
import { type TestRegistry, tokens } from './registry-fixture.ts'

/**
 * A page of the registry, logged in by the token in its address, as somebody opens it from a terminal. Resolves once the session is
 * there: a test that goes on to another page before would cut off the log-in, and meet a page that asks for a token.
 */
export const openPage = async (
  browser: BrowserFixture,
  registry: TestRegistry,
  path: string,
  { role = 'admin', ...options }: { role?: Role } & BrowserContextOptions = {},
): Promise<Page> => {
  const page = await browser.page(options)
  const loggedIn = page.waitForResponse(response => response.url() === registry.at('api/login'))
  await page.goto(`${registry.at(path)}#token=${tokens[role]}`)
  await loggedIn
  return page
}

/** What is to be read there, with single spaces. */
export const textOf = async (locator: Locator): Promise<string> =>
  ((await locator.first().allInnerTexts())[0] ?? '').replace(/\s+/g, ' ').trim()

/** Text of a table's row. */
export const rowText = (page: Page, name: string | RegExp): Promise<string> =>
  textOf(page.getByRole('row').filter({ hasText: name }))

/** Whether anything is wider than the window. */
export const overflows = (page: Page): Promise<boolean> =>
  page.evaluate('document.documentElement.scrollWidth > innerWidth')

/** Tasks of a small shop: one with docs and schemas in two versions, and one that fails. */
// biome-ignore lint/suspicious/noExplicitAny: tasks of any arguments and results
export const shopTasks = (): Task<any, any>[] => [
  defineTask(
    'resize_image:1.0',
    {
      description:
        'Fits an image into a **box**.\n\n- keeps its [proportions](https://example.org/proportions)\n' +
        '- never [enlarges](javascript:document.title=1)\n- ![drawing](https://example.org/x.png)\n\n' +
        '<img src=x onerror=document.title=1>',
      args: {
        type: 'object',
        properties: { width: { type: 'integer', minimum: 1, description: 'Pixels.' } },
        required: ['width'],
        additionalProperties: false,
      },
      result: { type: 'object', properties: { width: { type: 'integer' } } },
      timeoutMs: 2500,
      idempotent: true,
    },
    async ({ width }: { width: number }) => ({ width }),
  ),
  defineTask('resize_image:2.0', { description: 'The same, and more.' }, async () => ({})),
  defineTask('always_fails:1.0', { description: 'Fails.' }, async () => {
    throw new Error('the printer is on fire')
  }),
]
