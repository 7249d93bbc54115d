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
