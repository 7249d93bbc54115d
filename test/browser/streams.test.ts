import { describe, expect, it, vi } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { eventually } from '../support/hub-fixture.ts'
import { openPage, textOf } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'
import { run, tryIt } from './try-it-parts.ts'

vi.setConfig({ testTimeout: 60_000 })

const fixture = useRegistry()
const browser = useBrowser()

describe('a task that yields', () => {
  it('shows its chunks and its progress as they come, and how it ended', async () => {
    let goOn = false
    const chat = defineTask('chat:1.0', { timeoutMs: 30_000 }, async function* (_, ctx) {
      yield 'Hello'
      ctx.progress({ done: 3, total: 10, message: 'thinking' })
      await eventually(() => goOn)
      yield ', <b>you</b>'
      return { words: 2 }
    })
    await fixture.worker([chat])
    const page = await openPage(browser, await fixture.registry(), 'tasks/chat:1.0')
    await run(page).click()
    const chunks = tryIt(page).getByRole('region', { name: 'Chunks' })
    await expect.poll(() => textOf(chunks)).toMatch(/3 of 10 thinking 1 chunk Hello$/)
    expect(await chunks.getByRole('progressbar').getAttribute('value')).toBe('3')
    goOn = true
    await tryIt(page).getByRole('heading', { name: 'Result' }).waitFor()
    expect(await textOf(chunks)).toBe('2 chunks Hello, <b>you</b>')
    expect(await textOf(tryIt(page).locator('.outcome'))).toContain('words')
    await browser.screenshot(page, 'stream')
  })

  it('shows what it declares of its chunks beside its arguments and its result', async () => {
    const rows = defineTask('rows:1.0', { yields: { type: 'integer', description: 'A row.' } }, function* () {})
    const any = defineTask('any:1.0', {}, function* () {})
    await fixture.worker([rows, any, defineTask('none:1.0', {}, () => 1)])
    const registry = await fixture.registry()
    const schemas = async (task: string) => {
      const page = await openPage(browser, registry, `tasks/${task}?part=schema`)
      await page.getByRole('heading', { name: 'Result' }).waitFor()
      return textOf(page.locator('.schemas'))
    }
    expect(await schemas('rows:1.0')).toMatch(/Arguments .* Result .* Each chunk .*"A row\."/)
    expect(await schemas('any:1.0')).toContain('Each chunk It yields. None declared: chunks may be any JSON.')
    expect(await schemas('none:1.0')).not.toContain('Each chunk')
  })

  it('tells of a job how far it is', async () => {
    fixture.allowLeftovers()
    let goOn = false
    const long = defineTask('long:1.0', {}, async (_, ctx) => {
      ctx.progress({ done: 3, total: 4, message: 'page 3' })
      await eventually(() => goOn)
    })
    await fixture.worker([long])
    const job = await fixture.hub().enqueue(long, {}, { tracked: true })
    const page = await openPage(browser, await fixture.registry(), `jobs/${job.id}`)
    const fact = page.locator('.told-progress')
    await expect.poll(() => textOf(fact)).toBe('3 of 4 page 3')
    await browser.screenshot(page, 'job-progress')
    goOn = true
    await expect.poll(() => fact.count()).toBe(0)
  })
})
