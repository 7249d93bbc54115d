import { join } from 'node:path'
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

/** With what looks around in it, see there. */
const prepared = async (page: Page): Promise<Page> => {
  await page.addInitScript({ path: join(import.meta.dirname, 'hostile-page.mjs') })
  return page
}

/** What the page made of payloads, with their texts. */
const found = async (page: Page, call: string, ...args: unknown[]): Promise<unknown> => {
  const list = (await page.evaluate(`hostile.${call}(...${JSON.stringify(args)})`)) as { executed: number[] }[]
  return list.map(one => ({ ...one, executed: one.executed.map(at => scriptPayloads[at]) }))
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

/** So much of a payload is in the name of its task. */
const namedLength = 60

/** One task per payload, with it in every field that the registry takes from whoever writes there. */
const writeRegistry = async (): Promise<string[]> => {
  const keys = makeKeys(fixture.namespace)
  const now = Date.now()
  const names = scriptPayloads.map((text, at) => `task${at}${text.slice(0, namedLength)}:1.0`)
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
      build: text.slice(0, 64),
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

const groupsOf = <T>(list: readonly T[], size: number): T[][] =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size))

/** What of a text is shown as it is, whether as JSON or not. */
const longestPiece = (text: string, between = /["\\\p{Cc}\u202e]/u): string =>
  text.split(between).reduce((longest, piece) => (piece.length > longest.length ? piece : longest))

/** The same in a command for a shell. */
const longestWritten = (text: string): string => longestPiece(text, /["'\\\p{Cc}\u202e]/u)

describe(`${scriptPayloads.length} texts that would be scripts`, () => {
  it('are shown as texts by every page, in every field', async () => {
    const names = await writeRegistry()
    const registry = await fixture.registry()
    const page = await prepared(await openPage(browser, registry, ''))
    const count = scriptPayloads.length
    for (const [path, what, atLeast] of [
      ['', 'tbody tr', 5],
      ['tasks', 'tbody tr', count],
      ['workers', 'tbody tr', count],
      ['queues', 'tbody tr', count / 2 + 1],
      ['failures', 'tbody tr', Math.min(count, 100)],
      ['slow', 'tbody tr', Math.min(count, 100)],
      ['api-reference', '.route', 5],
      [`queues/${encodeURIComponent(`queue${scriptPayloads[0]}`)}`, 'tbody tr', 2],
    ] as const) {
      await page.goto(registry.at(path))
      expect(await found(page, 'see', path, what, atLeast)).toEqual([])
    }
    const tasks = names.map((name, at) => ({
      path: `/tasks/${encodeURIComponent(name)}`,
      title: `task${at}`,
      shows: longestPiece(scriptPayloads[at]!.slice(0, namedLength)),
      written: longestWritten(scriptPayloads[at]!.slice(0, namedLength)),
    }))
    expect(await found(page, 'visitTasks', tasks)).toEqual([])
    await browser.screenshot(page, 'hostile-task')
    expect(await found(page, 'see', 'what came late', 'h1', 1)).toEqual([])
  })

  it('are shown as texts in arguments, results, errors and what is made of them', async () => {
    const texts = { type: 'array', items: { type: 'string' } } as const
    const textArgs = { args: { type: 'object', properties: { texts }, required: ['texts'] } } as const
    const echo = defineTask('echo:1.0', textArgs, ({ texts }) => Object.fromEntries(texts.map(text => [text, [text]])))
    const fail = defineTask('fail:1.0', textArgs, ({ texts }) => {
      throw new Error(texts[0])
    })
    await fixture.worker([echo, fail])
    // A browser tells of each answer that is an error.
    browser.allow(/status of 500 .*fail%3A1\.0/)
    const registry = await fixture.registry({ maxRunsPerSecond: 1000 })
    // Of the arguments, the history shows the beginning only; of an error, there is one message.
    for (const { task, atOnce, outcome } of [
      { task: 'echo:1.0', atOnce: 3, outcome: 'ok' },
      { task: 'fail:1.0', atOnce: 1, outcome: 'failed' },
    ]) {
      const page = await prepared(await openPage(browser, registry, `tasks/${task}`))
      await page.reload()
      await page.getByRole('tab', { name: 'JSON' }).click()
      const runs = groupsOf(scriptPayloads, atOnce).map(group => ({
        args: { texts: group },
        shows: group.map(text => longestPiece(text)),
        outcome,
      }))
      expect(await found(page, 'runAll', runs, longestWritten(scriptPayloads.at(-1)!))).toEqual([])
      await browser.screenshot(page, `hostile-${task.slice(0, 4)}`)
      expect(await found(page, 'see', 'what came late', 'h1', 1)).toEqual([])
    }
  })
})
