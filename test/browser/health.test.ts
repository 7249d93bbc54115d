import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { startServer } from '../../tools/redis-server.mjs'
import { useBrowser } from '../support/browser.ts'
import { openPage } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()
const patience = { timeout: 30_000 }

it('says that nobody serves what waits, once the only worker was killed', async () => {
  fixture.allowLeftovers()
  const registry = await fixture.registry()
  const { url, namespace } = fixture
  const program = `import { Worker, defineTask } from 'pshub'
    const stuck = defineTask('stuck:1.0', { timeoutMs: 600_000 }, () => new Promise(() => undefined))
    await new Worker({ redis: '${url}', namespace: '${namespace}', queue: 'images', tasks: [stuck], slots: 1 }).start()
    console.log('there')`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], { stdio: ['ignore', 'pipe', 'ignore'] })
  fixture.onEnd(() => child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  const hub = fixture.hub()
  for (let call = 0; call < 3; call++) hub.call('stuck:1.0').catch(() => undefined)
  const page = await openPage(browser, registry, '')
  await page.getByText(/2 requests waiting/).waitFor(patience)
  child.kill('SIGKILL')
  await page.getByText(/images: Nobody serves it: 2 requests wait, the oldest for .* Start a worker:/).waitFor(patience)
  await browser.screenshot(page, 'health-unserved')
  for (const place of ['queues/images', 'tasks/stuck:1.0']) {
    await page.goto(registry.at(place))
    await page.getByText(/Nobody serves it: 2 requests wait, the oldest for .* Start a worker:/).waitFor(patience)
  }
}, 90_000)

it('says that calls are refused, and how many, under more than the workers serve', async () => {
  fixture.allowLeftovers()
  const registry = await fixture.registry()
  const slow = defineTask('slow:1.0', { timeoutMs: 5000 }, () => new Promise(resolve => setTimeout(resolve, 100)))
  await fixture.worker([slow], { queue: 'images', slots: 1, maxBacklog: 3 })
  const hub = fixture.hub({ name: 'shop' })
  const calling = setInterval(() => void hub.call('slow:1.0').catch(() => undefined), 33)
  fixture.onEnd(() => clearInterval(calling))
  const page = await openPage(browser, registry, '')
  const refused = /[1-9]\d* calls of the last minute \(.*%\) refused or given up by callers, most of them Overloaded/
  await page.getByText(refused).waitFor(patience)
  await browser.screenshot(page, 'health-refused')
  for (const place of ['queues/images', 'tasks/slow:1.0']) {
    await page.goto(registry.at(place))
    await page.getByText(refused).waitFor(patience)
  }
  await browser.screenshot(page, 'health-refused-task')
  await page.goto(registry.at('tasks/slow:1.0?part=failures'))
  const row = page.getByRole('row').filter({ hasText: 'Overloaded' })
  await row.getByText('shop', { exact: true }).first().waitFor(patience)
  clearInterval(calling)
}, 90_000)

it('says that a queue is paused, and Run does so instead of waiting', async () => {
  const registry = await fixture.registry()
  const quick = defineTask('quick:1.0', {}, async () => null)
  await fixture.worker([quick], { queue: 'images' })
  const hub = fixture.hub()
  const page = await openPage(browser, registry, '')
  await hub.pause('images')
  fixture.onEnd(() => hub.resume('images'))
  await page.getByText(/Queue images is paused with 0 requests waiting: .* until somebody resumes/).waitFor(patience)
  await page.goto(registry.at('tasks/quick:1.0'))
  await page.getByText(/It is paused: its workers take nothing\. Nothing waits\. Resume it/).waitFor(patience)
  await page.getByRole('button', { name: /^Run/ }).click()
  await page.getByText(/Queue images is paused: nothing would take the call\./).waitFor(patience)
  await browser.screenshot(page, 'health-paused-task')
  await hub.resume('images')
  await page.getByText(/It is paused/).waitFor({ state: 'detached', ...patience })
}, 90_000)

it('says that Redis is full and refuses writes', async () => {
  const server = await startServer({ args: ['--maxmemory-policy', 'noeviction'] })
  fixture.onEnd(() => server.stop())
  const hub = { redis: server.url, namespace: fixture.namespace, logLevel: 'silent' as const }
  const registry = await fixture.registry({ hub })
  await fixture.worker([defineTask('quick:1.0', {}, async () => null)], { redis: server.url })
  const page = await openPage(browser, registry, '')
  await page.getByText('Memory of Redis').waitFor({ state: 'detached', ...patience })
  await page.getByText('All is well').waitFor(patience)
  const { Redis } = await import('ioredis')
  const admin = new Redis(server.url)
  fixture.onEnd(() => admin.disconnect())
  await admin.config('SET', 'maxmemory', '1mb')
  await page.getByText(/Redis is full and refuses writes: .* in use\. Raise its maxmemory/).waitFor(patience)
  await browser.screenshot(page, 'health-full')
  await admin.config('SET', 'maxmemory', '0')
  await page.getByText('All is well').waitFor(patience)
  expect(await page.getByText(/Redis is full/).count()).toBe(0)
}, 90_000)
