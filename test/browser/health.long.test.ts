import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { startServer } from '../../tools/redis-server.mjs'
import { useBrowser } from '../support/browser.ts'
import { openPage, shopTasks } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'
import { judge } from './judge.ts'

/** What pages say while something is wrong, or has changed, with workers and Redis. */
const fixture = useRegistry()
const browser = useBrowser()
const viewport = { width: 1300, height: 900 }
const resize = (version: string) => defineTask(`resize:${version}`, {}, async () => null)

it('the page of a worker says what to do once its lease is gone', async () => {
  fixture.allowLeftovers()
  const registry = await fixture.registry()
  const { url, namespace } = fixture
  const program = `import { Worker, defineTask } from 'pshub'
    const stuck = defineTask('stuck:1.0', { timeoutMs: 600_000 }, () => new Promise(() => undefined))
    const worker = new Worker({ redis: '${url}', namespace: '${namespace}', queue: 'images', tasks: [stuck], slots: 1 })
    await worker.start()
    console.log(worker.id)`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  fixture.onEnd(() => child.kill('SIGKILL'))
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  const page = await openPage(browser, registry, `workers/${String(line).trim()}`, { viewport })
  await page.getByText('serving', { exact: true }).waitFor()
  // Takes over what the other one holds, which needs a new id then.
  await fixture.worker(shopTasks(), { queue: 'images' })
  child.kill('SIGSTOP')
  const lost = page.getByRole('region', { name: 'Its lease expired' })
  await lost.waitFor()
  await expect.poll(() => lost.getByText('Its process continues').count()).toBe(0)
  child.kill('SIGCONT')
  await lost
    .getByText(/^Its process continues as worker [\w-]+, because another worker took over its requests\.$/)
    .waitFor()
  child.kill('SIGKILL')
  await expect.poll(() => lost.getByText('Its process continues').count()).toBe(0)
  await lost.getByText(`Check whether process ${child.pid} still runs on`).waitFor()
  await lost.getByText('pshub worker ./tasks.mjs --queue images').waitFor()
  await judge(page, 'worker-lost', browser)
  await lost.getByRole('link', { name: 'which workers serve its queue' }).click()
  await page.getByText('lost', { exact: true }).first().waitFor()
})

it('a page says that Redis is away, and goes on once it is back', async () => {
  // Who is logged in is in Redis, too.
  const args = ['--appendonly', 'yes']
  const server = await startServer({ args })
  fixture.onEnd(() => server.stop())
  const hub = { redis: server.url, namespace: fixture.namespace, logLevel: 'silent' as const }
  const page = await openPage(browser, await fixture.registry({ hub }), 'queues')
  await page.getByText('Live', { exact: true }).waitFor()
  await server.stop({ keepDir: true })
  await page.getByText('Redis unreachable').waitFor()
  await page.getByRole('alert').getByText('The registry cannot be read.').waitFor()
  await browser.screenshot(page, 'pages-blind')
  const again = await startServer({ port: server.port, dir: server.dir, args })
  fixture.onEnd(() => again.stop())
  await page.getByText('Live', { exact: true }).waitFor()
})

it('a worker that is replaced by one of a newer version is a line across the charts', async () => {
  const registry = await fixture.registry()
  const old = await fixture.worker([resize('1.0')], { queue: 'images' })
  await fixture.worker([defineTask('mail:1.0', {}, async () => null)], { queue: 'mail' })
  const page = await openPage(browser, registry, '')
  await page.getByRole('img', { name: /^Calls per second/ }).waitFor()
  await expect.poll(() => page.locator('.chart-mark').count()).toBe(0)
  await fixture.worker([resize('2.0')], { queue: 'images' })
  await old.stop()
  const list = page.getByRole('list', { name: 'Deployed' })
  await list.getByText('resize:2.0').waitFor()
  await expect.poll(() => list.getByRole('listitem').count()).toBe(1)
  await expect.poll(() => page.locator('.chart-mark').count()).toBe(6)
  await expect.poll(() => page.locator('.chart-mark').first().getAttribute('title')).toBe('resize:2.0')
  await page.getByRole('img', { name: /^Calls per second.* Deployed meanwhile: resize:2\.0\.$/ }).waitFor()
  await browser.screenshot(page, 'deploys-overview')
})
