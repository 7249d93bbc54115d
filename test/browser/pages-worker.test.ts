import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { failure } from '../support/hub-fixture.ts'
import { look, openPage, rowText, shopTasks, textOf } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()
const patience = { timeout: 30_000 }
const viewport = { width: 1300, height: 900 }

describe('the page of a worker', () => {
  it('is reached from where it is named, and says what it is, provides and did', async () => {
    const registry = await fixture.registry()
    const worker = await fixture.worker(shopTasks(), { queue: 'images', slots: 4 })
    const other = await fixture.worker(shopTasks().slice(0, 1), { queue: 'spare' })
    const hub = fixture.hub({ name: 'web' })
    await Promise.all(Array.from({ length: 9 }, () => hub.call('resize_image:2.0', {})))
    for (let call = 0; call < 2; call++) await failure(hub.call('always_fails:1.0', {}))
    const page = await openPage(browser, registry, 'failures', { viewport })
    await page
      .getByRole('row')
      .filter({ hasText: 'printer' })
      .getByRole('link', { name: /pid \d+/ })
      .click(patience)
    const { id } = worker
    expect(new URL(page.url()).pathname).toBe(`/workers/${id}`)
    await page.getByRole('heading', { name: `Worker ${id}`, level: 1 }).waitFor()
    const [what] = await page.locator('.facts').allInnerTexts()
    expect(what!.replace(/\s+/g, ' ')).toMatch(
      new RegExp(
        `^Written in TypeScript or JavaScript, pshub \\S+ Host \\S+ Process pid ${process.pid} Queue images Started .* Last beat .* Same process ${other.id} of spare$`,
      ),
    )
    await expect
      .poll(() => rowText(page, 'resize_image:2.0'), patience)
      .toMatch(/^resize_image:2\.0 [\d.]+\/s [\d.]+ .s [\d.]+ .s [\d.]+ .s 0 % 9 0$/)
    expect(await rowText(page, 'TaskFailed 2')).toMatch(/^always_fails:1\.0 TaskFailed 2 .* 100 % 0 2$/)
    expect(await rowText(page, 'resize_image:1.0')).toBe('resize_image:1.0 – – – – – – –')
    const failures = page.getByRole('region', { name: 'Last failures' })
    expect(await textOf(failures.getByRole('row').nth(1))).toContain('the printer is on fire 2')
    await page.getByText('serving', { exact: true }).waitFor()
    await look(browser, page, 'worker')
    await failures.getByRole('link', { name: 'All, with search' }).click()
    await page.getByText('2 failures of 1 kind').waitFor()
    await page.goto(registry.at('workers'))
    await page
      .getByRole('link', { name: `pid ${process.pid}` })
      .first()
      .click()
    await page.getByRole('heading', { name: `Worker ${id}`, level: 1 }).waitFor()
    await worker.stop()
    await other.stop()
    await page.getByText('It has left; this is what was known last.').waitFor(patience)
    browser.allow(/status of 404/)
  })

  it('says what to do when its lease is gone', async () => {
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
    await page.getByText('serving', { exact: true }).waitFor(patience)
    // Takes over what the other one holds, which needs a new id then.
    await fixture.worker(shopTasks(), { queue: 'images' })
    child.kill('SIGSTOP')
    const lost = page.getByRole('region', { name: 'Its lease ended' })
    await lost.waitFor(patience)
    expect(await lost.getByText('Its process goes on').count()).toBe(0)
    child.kill('SIGCONT')
    await lost
      .getByText(/^Its process goes on as worker [\w-]+, because another one took over what it held\.$/)
      .waitFor(patience)
    child.kill('SIGKILL')
    await expect.poll(() => lost.getByText('Its process goes on').count(), patience).toBe(0)
    await lost.getByText(`See whether process ${child.pid} still runs on`).waitFor()
    await lost.getByText('pshub worker ./tasks.mjs --queue images').waitFor()
    await look(browser, page, 'worker-lost')
    await lost.getByRole('link', { name: 'who else serves its queue' }).click()
    await page.getByText('lost', { exact: true }).first().waitFor()
  }, 90_000)

  it('says that it drains', async () => {
    const registry = await fixture.registry()
    let finish: (value: number) => void = () => undefined
    const long = defineTask('long:1.0', { timeoutMs: 60_000 }, () => new Promise<number>(resolve => (finish = resolve)))
    const worker = await fixture.worker([long], { queue: 'images' })
    const call = fixture.hub().call('long:1.0', {})
    const page = await openPage(browser, registry, `workers/${worker.id}`, { viewport })
    await page.getByRole('row').filter({ hasText: 'long:1.0' }).waitFor(patience)
    await expect.poll(() => page.locator('.bar-text').first().textContent(), patience).toMatch(/^1/)
    const stopped = worker.stop({ graceMs: 20_000 })
    await page
      .getByText('It was told to stop: it takes nothing new, finishes what runs (1 call), and leaves.')
      .waitFor(patience)
    finish(1)
    await Promise.all([call, stopped])
  })

  it('says that a worker is not known', async () => {
    browser.allow(/status of 404/)
    const page = await openPage(browser, await fixture.registry(), 'workers/nobody', { viewport })
    await page.getByText('The registry knows no such worker.').waitFor(patience)
    await look(browser, page, 'worker-unknown')
    await page.goto(page.url().replace('nobody', encodeURIComponent(`<b>/${'x'.repeat(300)}`)))
    await page.getByText('The registry knows no such worker.').waitFor(patience)
  })
})
