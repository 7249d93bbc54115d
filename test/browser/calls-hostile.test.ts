import { expect, it } from 'vitest'
import { makeKeys } from '../../src/wire/keys.ts'
import { useBrowser } from '../support/browser.ts'
import { openPage, overflows } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'
import { scriptPayloads } from '../support/script-payloads.ts'

const fixture = useRegistry()
const browser = useBrowser()

it('what strangers tell of calls is shown as text, and widens no page', async () => {
  const registry = await fixture.registry()
  const keys = makeKeys(fixture.namespace)
  const harm = [...scriptPayloads.slice(0, 30), `\u202e${'W'.repeat(3000)}`]
  const [id, hub] = ['hostile-worker', 'hostile-hub']
  const at = Date.now() * 1000
  const tasks = Object.fromEntries(harm.map(text => [text.slice(0, 100), 'x']))
  const each = <T>(make: (text: string, n: number) => T) =>
    Object.fromEntries(harm.map((text, n) => [text.slice(0, 100), [make(text, n)]]))
  const failures = each((text, n) => ({ id: `f${n}`, at, code: text, message: text, from: text, execUs: 1e15 }))
  const slow = each((text, n) => {
    const us = { backlog: n % 3 ? 1 : 1e15, queue: 0, exec: 1e12 }
    return { id: `s${n}`, at, us, code: text, from: text, loopMs: 1e12 }
  })
  const codes = [{ code: 'Timeout', lastMinute: 1, count: 1e6, atMs: at / 1000, message: harm[0], id: 'r' }]
  const refused = { seen: at / 1000, name: harm[1], host: harm[2], pid: 1, tasks: [{ task: harm[3], codes }] }
  const host = harm.at(-1)!
  const card = { id, queue: 'q', host, pid: 1, slots: 1e9, client: `pshub-js/${harm[4]}`, tasks, started: at / 1e6 }
  const { redis } = fixture
  await redis.hset(keys.workers, id, JSON.stringify(card))
  await redis.hset(keys.failures, id, JSON.stringify(failures))
  await redis.hset(keys.slow, id, JSON.stringify(slow))
  await redis.zadd(keys.refusing, Date.now(), hub)
  await redis.set(keys.refused(hub), JSON.stringify(refused))
  const page = await openPage(browser, registry, 'failures', { viewport: { width: 390, height: 844 } })
  await page.addInitScript("globalThis.executed = () => { throw new Error('a payload was executed') }")
  for (const width of [390, 820, 1300])
    for (const [path, rows] of [
      ['failures', harm.length + 2],
      ['failures?q=hostile-hub', 2],
      ['slow', harm.length + 1],
      [`workers/${id}`, 3 * harm.length + 2],
    ] as const) {
      await page.setViewportSize({ width, height: 844 })
      await page.goto(registry.at(path))
      await expect
        .poll(() => page.locator('main tr').count(), { timeout: 15_000 })
        .toBeGreaterThanOrEqual(Math.min(rows, 70))
      expect([path, width, await overflows(page)]).toEqual([path, width, false])
      expect(await page.locator('main').locator('script, img, iframe, object').count()).toBe(0)
      await browser.screenshot(page, `calls-hostile-${path.replace(/\W+/g, '-')}-${width}`)
    }
})

/** Names that are no names, and figures that are none. */
const oddNames = [
  '__proto__',
  'constructor',
  '\ud800half',
  '..',
  'a/b?c#d&e=%zz',
  '100%',
  '\u202e\u0000\u0007\u001b[31m',
  'ش'.repeat(200),
  '<b>:1.0',
]

it('names and figures of any kind empty no page', async () => {
  // Nobody declared such a task.
  browser.allow(/status of 404 .*api\/tasks\/__proto__/)
  const { redis } = fixture
  const keys = makeKeys(fixture.namespace)
  const at = Date.now() * 1000
  const json = (value: unknown) => JSON.stringify(value).replaceAll('"huge"', '1e999')
  // A literal __proto__ would set the prototype.
  const byName = <T>(make: (name: string) => T) =>
    `{${oddNames.map(name => `${JSON.stringify(name)}:${json(make(name))}`).join(',')}}`
  for (const [n, name] of oddNames.entries()) {
    const id = n === 2 ? 'half' : name
    const card = { id, queue: name, host: name, pid: 'huge', slots: 'huge', client: name, started: 'huge' }
    await redis.hset(keys.workers, id, json(card).replace(/\}$/, `,"tasks":${byName(() => 'x')}}`))
    await redis.hset(keys.stats, id, json({ seen: 'huge', busy: [], counters: { ok: 'huge' }, loopMs: { p99: {} } }))
    const call = { id: `call${n}`, at, code: name, from: name, execUs: 'huge' }
    await redis.hset(
      keys.failures,
      id,
      byName(() => [{ ...call, message: name }, null, 7]),
    )
    const us = { backlog: 5, queue: 0, exec: 9e15 }
    await redis.hset(
      keys.slow,
      id,
      byName(() => [
        { ...call, us, loopMs: 'huge' },
        { ...call, us: 'huge' },
      ]),
    )
    await redis.zadd(keys.refusing, Date.now(), `hub${n}`)
    const codes = [{ code: 'Timeout', lastMinute: 'huge', count: 3, atMs: at / 1000, message: name }]
    await redis.set(
      keys.refused(`hub${n}`),
      json({ seen: at / 1000, name, host: name, tasks: [{ task: name, codes }] }),
    )
  }
  const registry = await fixture.registry()
  const page = await openPage(browser, registry, 'failures', { viewport: { width: 390, height: 844 } })
  for (const [path, shown] of [
    ['failures', 'tbody tr'],
    [`failures?q=${encodeURIComponent('<b>:1.0')}`, 'tbody tr'],
    ['slow', 'tbody tr'],
    ['workers', 'tbody tr'],
    ['workers/half', 'tbody tr'],
    ['workers/__proto__', 'tbody tr'],
    ['workers/a%2Fb%3Fc%23d%26e%3D%25zz', 'tbody tr'],
    ['workers/100%25', 'tbody tr'],
    ['', 'h2'],
    ['tasks', 'h1'],
    ['queues', 'h1'],
    ['tasks/__proto__', 'h1'],
  ] as const) {
    await page.goto(registry.at(path))
    await page.locator(`main ${shown}`).or(page.getByText('cannot be shown')).first().waitFor({ timeout: 15_000 })
    expect([path, await page.getByText('cannot be shown').count()]).toEqual([path, 0])
    expect([path, await overflows(page)]).toEqual([path, false])
  }
})
