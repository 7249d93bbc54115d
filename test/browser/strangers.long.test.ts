import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useBrowser } from '../support/browser.ts'
import { office } from '../support/office-fixture.ts'
import { openPage, overflows, textOf } from '../support/pages-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { useRegistry } from '../support/registry-fixture.ts'
import { scriptPayloads } from '../support/script-payloads.ts'

/** Whoever may write into Redis may write anything: it is shown as text, and neither empties nor widens a page. */
const fixture = useRegistry()
const browser = useBrowser()
const viewport = { width: 390, height: 844 }

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
      'PX',
      60_000,
    )
  }
  const registry = await fixture.registry()
  const page = await openPage(browser, registry, 'failures', { viewport })
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
    await page.locator(`main ${shown}`).or(page.getByText('cannot be shown')).first().waitFor()
    expect([path, await page.getByText('cannot be shown').count()]).toEqual([path, 0])
    expect([path, await overflows(page)]).toEqual([path, false])
  }
})

it('what strangers put into queues is shown as text, and widens no page', async () => {
  const { registry } = await office(fixture, 0)
  fixture.allowStrangers()
  const harm = scriptPayloads.slice(0, 40)
  const task = (text: string) => JSON.stringify(text.slice(0, 120))
  const pipeline = fixture.redis.pipeline()
  for (const [n, text] of harm.entries()) {
    const failure = JSON.stringify({ at: 1, code: text, message: text }).replace(/[{}[\]]/g, char =>
      char === '{' || char === '}' ? char : `\\u00${char.charCodeAt(0).toString(16)}`,
    )
    const part = `{"tries":1,"errors":[${failure}],"chain":"c","steps":[["office",${task(text)}]],"batch":"office/b"}`
    const rest = `"task":${task(text)},"from":${JSON.stringify(text)},"args":${JSON.stringify({ [text]: text })}`
    pipeline.zadd(queueKeys(fixture, 'office').dead, n + 1, `{"at":1000,"ttl":0,"id":"h${n}","job":${part},${rest}}`)
  }
  pipeline.zadd(
    queueKeys(fixture, 'office').dead,
    99,
    `{"id":"huge","task":"${'W'.repeat(128)}","args":"${'x'.repeat(900_000)}"}`,
  )
  pipeline.zadd(queueKeys(fixture, 'office').dead, 98, 'garbage', 97, '{"task":{}}')
  pipeline.hset(
    queueKeys(fixture, 'office').cron,
    harm[0]!,
    JSON.stringify({ cron: harm[1], task: harm[2], args: '{}', timezone: harm[3] }),
  )
  pipeline.hset(queueKeys(fixture, 'office').batch('b'), { opened: '1', then: harm[0]!, failed: '{', done: 'x' })
  await pipeline.exec()
  const page = await openPage(browser, registry, 'jobs?state=dead', { viewport })
  await page.addInitScript("globalThis.executed = () => { throw new Error('a payload was executed') }")
  const paths = ['jobs?state=dead', 'schedules', 'jobs/huge?queue=office&state=dead&at=99']
  for (const path of [
    ...paths,
    'jobs/h0?queue=office&state=dead',
    'jobs/h7?queue=office&state=dead',
    'queues/office',
    '',
  ]) {
    await page.goto(registry.at(path))
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    if (path.startsWith('jobs/')) await page.getByRole('heading', { name: 'Arguments' }).waitFor()
    if (path === 'jobs?state=dead') await expect.poll(() => page.getByRole('row').count()).toBe(harm.length + 2)
    expect([path, await overflows(page)]).toEqual([path, false])
    await expect
      .poll(() => page.locator('main').locator('script, img, iframe, object, svg:not(.sparkline)').count())
      .toBe(0)
  }
  await page.goto(registry.at(`jobs?state=dead&q=${encodeURIComponent('<script>')}&queue=office`))
  await expect.poll(() => page.getByRole('row').count()).toBeGreaterThan(1)
  await page.goto(registry.at(`jobs?state=dead&from=${encodeURIComponent('<x>')}`))
  browser.allow(/status of 400/)
  await page.getByText('These jobs cannot be read.').waitFor()
  await page.getByRole('link', { name: 'Show all jobs in this state' }).click()
  await expect.poll(() => page.getByRole('row').count()).toBe(harm.length + 2)
})

it('keys that strangers made are shown as text, and widen no page', async () => {
  fixture.allowLeftovers()
  const harm = [...scriptPayloads.slice(0, 12), `{}[]\u202e\u2066"'${'W'.repeat(150)}`, '../..', 'a?b#c&d=e']
  const registry = await fixture.registry()
  await fixture.worker([defineTask('sync:1.0', { keyed: 'merged' }, () => undefined)], { queue: 'shop' })
  const keys = queueKeys(fixture, 'shop')
  const pipeline = fixture.redis.pipeline()
  const made = harm.map(text => text.slice(0, 180))
  const failure = JSON.stringify({ tries: 2, errors: made.map((text, at) => ({ at, code: text, message: text })) })
  for (const key of made) {
    pipeline.zadd(
      keys.merged('sync:1.0', key),
      1e300,
      JSON.stringify({ [key]: key }),
      1,
      JSON.stringify('x'.repeat(5000)),
    )
    pipeline.zadd(keys.later, Date.now() + 3_600_000, `sync:1.0 ${key}`)
    pipeline.hset(keys.tried('sync:1.0'), key, failure)
    pipeline.hset(keys.lined, 'sync:1.0', made.length)
    const part = `{"errors":${JSON.stringify([{ at: 1, code: key, message: key }]).replace(/[{}[\]](?=[^"]*"[^"]*$)/g, '_')},"key":${JSON.stringify(key)},"score":1}`
    pipeline.zadd(keys.dead, Date.now(), `{"id":"d","job":${part},"task":"sync:1.0","args":${JSON.stringify([key])}}`)
  }
  await pipeline.exec()
  const page = await openPage(browser, registry, 'jobs?state=waiting', { viewport, colorScheme: 'dark' })
  await page.addInitScript("globalThis.executed = () => { throw new Error('a payload was executed') }")
  await page.goto(registry.at('jobs?state=waiting'))
  await expect.poll(() => page.getByRole('row').count()).toBe(made.length + 1)
  await expect.poll(() => overflows(page)).toBe(false)
  for (const key of made) {
    await page.goto(registry.at(`key?${new URLSearchParams({ task: 'sync:1.0', key, queue: 'shop' })}`))
    await page.getByRole('heading', { name: 'Payloads' }).waitFor()
    await page.getByRole('heading', { name: 'Tries that failed' }).waitFor()
    expect([key, await overflows(page)]).toEqual([key, false])
    await expect.poll(() => page.locator('main').locator('script, img, iframe, object, svg').count()).toBe(0)
    await expect.poll(() => textOf(page.locator('.facts'))).toContain('Waiting 2')
  }
  await browser.screenshot(page, 'job-keys-hostile')
  // From the list to the page of each.
  await page.goto(registry.at('jobs?state=waiting'))
  await page.locator('.job-name .summary a').last().click()
  await page.getByRole('heading', { name: 'Payloads' }).waitFor()
})
