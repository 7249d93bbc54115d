import type { Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useBrowser } from '../support/browser.ts'
import { openPage } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'
import { scriptPayloads } from '../support/script-payloads.ts'

const fixture = useRegistry()
const browser = useBrowser()

/** Markup that no page of ours has: what a payload would have become. */
const foreign = `[...document.querySelectorAll(
  'iframe, object, embed, base, image, marquee, audio, video, math, body style, body link, body meta, body script, details[ontoggle]'
), ...[...document.querySelectorAll('*')].filter(one =>
  [...one.attributes].some(({ name, value }) => /^on/.test(name) || /^(href|src|action|formaction)$/.test(name) && /^\\s*(javascript:|data:|(https?:)?\\/\\/(?!127\\.0\\.0\\.1))/i.test(value)))
].map(one => one.outerHTML.slice(0, 200))`

/** What the page made of the payloads: nothing. */
const looked = async (page: Page): Promise<unknown> => ({
  executed: await page.evaluate('executedCount'),
  foreign: await page.evaluate(foreign),
})
const harmless = { executed: 0, foreign: [] }

/** As a link of the page does, without loading it anew. */
const visit = (page: Page, path: string): Promise<unknown> =>
  page.evaluate(`history.pushState(null, '', ${JSON.stringify(path)}); dispatchEvent(new PopStateEvent('popstate'))`)

const prepared = async (page: Page): Promise<Page> => {
  await page.addInitScript('globalThis.executedCount = 0; globalThis.executed = () => executedCount++')
  return page
}

const schemaOf = (text: string) => ({
  type: 'object',
  title: text,
  description: text,
  $comment: text,
  required: ['plain'],
  properties: {
    plain: { type: 'string', title: text, description: text, default: text, examples: [text], pattern: text },
    [text]: { type: 'string', enum: [text, 'b'] },
    fixed: { const: text },
    radio: { enum: [text, 1, null] },
    link: { type: 'string', format: 'uri', default: text },
    list: { type: 'array', title: text, items: { oneOf: [{ title: text, type: 'string' }, { const: text }] } },
    map: { type: 'object', additionalProperties: { type: 'string', title: text }, default: { [text]: text } },
  },
  examples: [{ plain: text, [text]: text, list: [text], map: { [text]: text } }],
  additionalProperties: { $ref: '#/$defs/more' },
  $defs: { more: { title: text, type: ['string', 'null'] } },
})

const window = { counts: [20, 1], sum: 20, max: 20 }

/** One task per payload, with it in every field that the registry takes from whoever writes there. */
const writeRegistry = async (): Promise<string[]> => {
  const keys = makeKeys(fixture.namespace)
  const now = Date.now()
  const names = scriptPayloads.map((text, at) => `task${at}${text.slice(0, 60)}:1.0`)
  for (const [at, text] of scriptPayloads.entries()) {
    const task = names[at]!
    const id = `worker-${at}`
    const queue = at % 2 === 0 ? `queue${text}` : 'plain'
    const card = {
      task,
      queue,
      description: `${text}\n\n# ${text}\n\n- ${text}\n\n\`${text}\` **${text}**`,
      timeoutMs: 1000,
      at: now / 1000,
    }
    const schemas = { args: schemaOf(text), result: schemaOf(text) }
    await fixture.redis.hset(keys.tasks, task, JSON.stringify({ ...card, ...schemas }))
    const worker = {
      id,
      queue,
      host: text,
      pid: text,
      slots: 4,
      tasks: { [task]: 'd' },
      client: text,
      started: now / 1000,
    }
    await fixture.redis.hset(keys.workers, id, JSON.stringify(worker))
    await fixture.redis.zadd(keys.queue(queue).leases, now + 600_000, id)
    await fixture.redis.hset(keys.stats, id, JSON.stringify({ seen: now, busy: 1, draining: false, counters: {} }))
    const counts = { ok: 1, errors: { [text]: 1 }, callers: { [text]: 2 } }
    const stats = {
      ms: 60_000,
      tasks: { [task]: { ...counts, window: { ...counts, us: { backlog: window, queue: window, exec: window } } } },
    }
    await fixture.redis.hset(keys.taskStats, id, JSON.stringify(stats))
    const call = { id: 'a'.repeat(22), at: now * 1000, from: text.slice(0, 64), code: text }
    const slow = { ...call, us: { backlog: 1, queue: 1, exec: 5000 }, loopMs: 0 }
    await fixture.redis.hset(keys.slow, id, JSON.stringify({ [task]: [slow] }))
    await fixture.redis.hset(keys.failures, id, JSON.stringify({ [task]: [{ ...call, message: text, execUs: 5 }] }))
    fixture.onEnd(() => fixture.redis.del(keys.queue(queue).leases))
  }
  return names
}

/** What of a text is shown as it is, whether as JSON or not. */
const longestPiece = (text: string): string =>
  text.split(/["\\\p{Cc}\u202e]/u).reduce((longest, piece) => (piece.length > longest.length ? piece : longest))

describe(`${scriptPayloads.length} texts that would be scripts`, () => {
  it('are shown as texts by every page, in every field', async () => {
    const names = await writeRegistry()
    const registry = await fixture.registry()
    const page = await prepared(await openPage(browser, registry, ''))
    for (const path of [
      '',
      'tasks',
      'workers',
      'queues',
      `queues/${encodeURIComponent(`queue${scriptPayloads[0]}`)}`,
    ]) {
      await page.goto(registry.at(path))
      await page.locator('td, .facts').first().waitFor()
      expect(await looked(page), path).toEqual(harmless)
    }
    for (const name of names) {
      await visit(page, `/tasks/${encodeURIComponent(name)}`)
      await page.getByRole('heading', { level: 1, name: name.slice(0, 6) }).waitFor()
      const parts = page.getByRole('navigation', { name: 'Parts of this page' })
      await parts.waitFor()
      for (const part of ['Schema', 'Versions', 'Charts', 'Workers', 'Failures', 'Try it']) {
        const link = parts.getByRole('link', { name: part })
        await link.click()
        await page.locator('[aria-current="true"]', { hasText: part }).waitFor()
        expect(await looked(page), `${name} ${part}`).toEqual(harmless)
      }
      const fill = page.getByRole('button', { name: 'the example' })
      await fill.click()
      for (const more of ['Copy as', 'History']) await page.locator('summary', { hasText: more }).click()
      expect(await looked(page), `${name}, filled in`).toEqual(harmless)
    }
    await browser.screenshot(page, 'hostile-task')
  }, 300_000)

  it('are shown as texts in arguments, results, errors and what is made of them', async () => {
    const textArgs = { args: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] } } as const
    const echo = defineTask('echo:1.0', textArgs, ({ text }) => ({
      [text]: [text],
    }))
    const fail = defineTask('fail:1.0', textArgs, ({ text }) => {
      throw new Error(text)
    })
    await fixture.worker([echo, fail])
    // A browser tells of each answer that is an error.
    browser.allow(/status of 500 .*fail%3A1\.0/)
    const registry = await fixture.registry({ maxRunsPerSecond: 1000 })
    for (const task of ['echo:1.0', 'fail:1.0']) {
      const page = await prepared(await openPage(browser, registry, `tasks/${task}`))
      await page.reload()
      await page.getByRole('tab', { name: 'JSON' }).click()
      for (const text of scriptPayloads) {
        await page.getByRole('textbox', { name: 'Arguments as JSON' }).fill(JSON.stringify({ text }))
        const answered = page.waitForResponse(response => response.url().includes('/api/call/'))
        await page.keyboard.press('Control+Enter')
        expect((await answered).status()).toBe(task === 'echo:1.0' ? 200 : 500)
        await page.getByText(longestPiece(text)).first().waitFor()
        expect(await looked(page), text).toEqual(harmless)
      }
      for (const more of ['Copy as', 'History']) await page.locator('summary', { hasText: more }).click()
      expect(await looked(page), `${task} with its history`).toEqual(harmless)
      await browser.screenshot(page, `hostile-${task.slice(0, 4)}`)
    }
  }, 300_000)
})
