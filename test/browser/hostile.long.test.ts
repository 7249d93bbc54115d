import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useBrowser } from '../support/browser.ts'
import { openPage } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'
import { scriptPayloads } from '../support/script-payloads.ts'
import { fold, jsonField, run } from './try-it-parts.ts'

const fixture = useRegistry()
const browser = useBrowser()

/** Runs in the page before its own scripts: payloads that are executed tell so. */
const watching = 'globalThis.hits = []; globalThis.executed = place => hits.push(place)'

/** Runs in the page: what a payload was executed, and markup or attributes that no page of ours has. */
const harm = `(() => {
  const strange = 'iframe, object, embed, base, image, marquee, audio, video, math, body style, body link, body meta, body script, details[ontoggle]'
  const elsewhere = /^\\s*(javascript:|data:|(https?:)?\\/\\/(?!127\\.0\\.0\\.1))/i
  const isForeign = ({ name, value }) => /^on/.test(name) || (/^(href|src|action|formaction)$/.test(name) && elsewhere.test(value))
  const all = [...document.querySelectorAll(strange), ...[...document.querySelectorAll('*')].filter(one => [...one.attributes].some(isForeign))]
  return [...hits, ...all.map(one => one.outerHTML.slice(0, 200))]
})()`

const look = async (page: Page, where: string): Promise<void> => {
  await expect.poll(() => page.evaluate(harm), { message: where }).toEqual([])
}

/** A pattern that does not compile would make the schema unusable. */
const patternOf = (text: string) => {
  try {
    new RegExp(text, 'u')
    return { pattern: text }
  } catch {
    return {}
  }
}

const schemaOf = (text: string) => ({
  type: 'object',
  title: text,
  description: text,
  $comment: text,
  properties: {
    plain: { type: 'string', title: text, description: text, default: text, examples: [text], ...patternOf(text) },
    [text]: { type: 'string', enum: [text, 'b'] },
    fixed: { const: text },
    radio: { enum: [text, 1, null] },
    link: { type: 'string', format: 'uri', default: text },
    list: { type: 'array', title: text, items: { oneOf: [{ title: text, type: 'string' }, { const: text }] } },
    map: { type: 'object', additionalProperties: { type: 'string', title: text }, default: { [text]: text } },
  },
})

const times = { counts: [20, 1], sum: 20, max: 20 }

/** One task that has all payloads in every field, and one named after each; so each worker, queue and call. */
const writeRegistry = async (): Promise<void> => {
  const keys = makeKeys(fixture.namespace)
  const now = Date.now()
  const parts = Object.fromEntries(scriptPayloads.map((text, at) => [`p${at}`, schemaOf(text)]))
  const schema = { type: 'object', properties: parts, examples: scriptPayloads.map(text => ({ [text]: text })) }
  const description = scriptPayloads.map(text => `${text}\n\n# ${text}\n\n- ${text}\n\n\`${text}\` **${text}**`)
  const card = { queue: 'plain', timeoutMs: 1000, at: now / 1000 }
  const full = { ...card, task: 'full:1.0', description: description.join('\n\n'), args: schema, result: schema }
  await fixture.redis.hset(keys.tasks, 'full:1.0', JSON.stringify(full))
  for (const [at, text] of scriptPayloads.entries()) {
    const task = `task${at}${text.slice(0, 60)}:1.0`
    const id = `worker-${at}`
    const queue = at % 2 === 0 ? `queue${text}` : 'plain'
    const tasks = { [task]: 'd', 'full:1.0': 'd' }
    const counts = { ok: 1, rejected: { [text]: 1 }, failed: { [text]: 1 }, callers: { [text]: 2 } }
    const figures = { ...counts, window: { ...counts, us: { backlog: times, queue: times, exec: times } } }
    const call = { id: 'a'.repeat(22), at: now * 1000, from: text.slice(0, 64), code: text }
    const failure = { ...call, message: text, execUs: 5 }
    const slow = { ...call, us: { backlog: 1, queue: 1, exec: 5000 }, loopMs: 0 }
    const codes = [{ code: text, lastMinute: 1, count: 3, atMs: now, message: text }]
    const of = (value: unknown) => JSON.stringify({ [task]: value, 'full:1.0': value })
    const worker = { id, queue, host: text, pid: text, slots: 4, tasks, client: text, build: text.slice(0, 64) }
    await fixture.redis
      .pipeline()
      .hset(keys.tasks, task, JSON.stringify({ ...card, task, queue, description: text }))
      .hset(keys.workers, id, JSON.stringify({ ...worker, started: now / 1000 }))
      .zadd(keys.queue(queue).leases, now + 600_000, id)
      .hset(keys.stats, id, JSON.stringify({ seen: now, busy: 1, draining: false, counters: {} }))
      .hset(keys.taskStats, id, JSON.stringify({ ms: 60_000, tasks: { [task]: figures, 'full:1.0': figures } }))
      .hset(keys.slow, id, of([slow]))
      .hset(keys.failures, id, of([failure]))
      .zadd(keys.refusing, now, id)
      .set(
        keys.refused(id),
        JSON.stringify({ seen: now, name: text, host: text, tasks: [{ task: text, codes }] }),
        'PX',
        600_000,
      )
      .exec()
    fixture.onEnd(() => fixture.redis.del(keys.queue(queue).leases))
  }
}

it(`${scriptPayloads.length} texts that would be scripts are shown as texts by every page, in every field`, async () => {
  await writeRegistry()
  const registry = await fixture.registry()
  const page = await openPage(browser, registry, '')
  await page.addInitScript(watching)
  const count = scriptPayloads.length
  for (const [path, what, atLeast] of [
    ['', 'tbody tr', 5],
    ['tasks', 'tbody tr', count],
    ['workers', 'tbody tr', count],
    ['queues', 'tbody tr', count / 2 + 1],
    ['failures', 'tbody tr', count],
    ['slow', 'tbody tr', count],
    ['api-reference?q=full', '.route-body pre', 2],
    [`queues/${encodeURIComponent(`queue${scriptPayloads[0]}`)}`, 'tbody tr', 2],
    [`tasks/${encodeURIComponent(`task0${scriptPayloads[0]}:1.0`)}`, 'h1', 1],
    ['workers/worker-0', 'tbody tr', 2],
    ['tasks/full:1.0', '.tryit .field .title', count],
    ['tasks/full:1.0?part=schema', '.schemas .json-string', count],
    ['tasks/full:1.0?part=live', '[aria-labelledby=slow] td[data-name=caller]', 10],
    ['tasks/full:1.0?part=workers', '[aria-labelledby=providers] tbody tr', count],
    ['tasks/full:1.0?part=failures', '[aria-labelledby=failures] td[data-name=message]', 10],
  ] as const) {
    await page.goto(registry.at(path))
    await expect.poll(() => page.locator(what).count(), { message: path }).toBeGreaterThanOrEqual(atLeast)
    await look(page, path)
  }
})

it('they are shown as texts in arguments, results, errors and what is made of them', async () => {
  const args = { type: 'object', properties: { texts: { type: 'array', items: { type: 'string' } } } } as const
  const echo = defineTask('echo:1.0', { args }, ({ texts = [] }) =>
    Object.fromEntries(texts.map(text => [text, [text]])),
  )
  const fail = defineTask('fail:1.0', { args }, ({ texts = [] }) => {
    throw new Error(texts.join('\n'))
  })
  await fixture.worker([echo, fail])
  browser.allow(/status of 500 .*fail:1\.0/)
  const registry = await fixture.registry()
  for (const [task, outcome] of [
    ['echo:1.0', 'ok'],
    ['fail:1.0', 'failed'],
  ] as const) {
    const page = await openPage(browser, registry, `tasks/${task}`)
    await page.addInitScript(watching)
    await page.goto(registry.at(`tasks/${task}#as=json`))
    await page.reload()
    await jsonField(page).fill(JSON.stringify({ texts: scriptPayloads }))
    await run(page).click()
    const last = page.locator(`.outcome[data-outcome=${outcome}]`)
    await last.waitFor()
    await expect.poll(() => last.textContent()).toContain(scriptPayloads[0])
    await fold(page, 'Copy as').click()
    await page.locator('details[open] pre.snippet').waitFor()
    await fold(page, 'History').click()
    await look(page, task)
    await browser.screenshot(page, `hostile-${task.slice(0, 4)}`)
  }
})
