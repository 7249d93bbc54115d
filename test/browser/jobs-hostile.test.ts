import { describe, expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { office } from '../support/office-fixture.ts'
import { openPage, overflows } from '../support/pages-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { useRegistry } from '../support/registry-fixture.ts'
import { scriptPayloads } from '../support/script-payloads.ts'

const fixture = useRegistry()
const browser = useBrowser()
const keys = (queue = 'office') => queueKeys(fixture, queue)

describe('what strangers put into queues', () => {
  const viewport = { width: 390, height: 844 }

  it('is shown as text, and widens no page', async () => {
    const { registry } = await office(fixture, 0)
    const harm = scriptPayloads.slice(0, 40)
    const task = (text: string) => JSON.stringify(text.slice(0, 120))
    const pipeline = fixture.redis.pipeline()
    for (const [n, text] of harm.entries()) {
      const failure = JSON.stringify({ at: 1, code: text, message: text }).replace(/[{}[\]]/g, char =>
        char === '{' || char === '}' ? char : `\\u00${char.charCodeAt(0).toString(16)}`,
      )
      const part = `{"tries":1,"errors":[${failure}],"chain":"c","steps":[["office",${task(text)}]],"batch":"office/b"}`
      const rest = `"task":${task(text)},"from":${JSON.stringify(text)},"args":${JSON.stringify({ [text]: text })}`
      pipeline.zadd(keys().dead, n + 1, `{"at":1000,"ttl":0,"id":"h${n}","job":${part},${rest}}`)
    }
    pipeline.zadd(keys().dead, 99, `{"id":"huge","task":"${'W'.repeat(128)}","args":"${'x'.repeat(900_000)}"}`)
    pipeline.zadd(keys().dead, 98, 'garbage', 97, '{"task":{}}')
    pipeline.hset(
      keys().cron,
      harm[0]!,
      JSON.stringify({ cron: harm[1], task: harm[2], args: '{}', timezone: harm[3] }),
    )
    pipeline.hset(keys().batch('b'), { opened: '1', then: harm[0]!, failed: '{', done: 'x' })
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
      expect(await page.locator('main').locator('script, img, iframe, object, svg:not(.sparkline)').count()).toBe(0)
    }
    await page.goto(registry.at(`jobs?state=dead&q=${encodeURIComponent('<script>')}&queue=office`))
    await expect.poll(() => page.getByRole('row').count()).toBeGreaterThan(1)
    await page.goto(registry.at(`jobs?state=dead&from=${encodeURIComponent('<x>')}`))
    browser.allow(/status of 400/)
    await page.getByText('These jobs cannot be read.').waitFor()
    await page.getByRole('link', { name: 'Show all jobs in this state' }).click()
    await expect.poll(() => page.getByRole('row').count()).toBe(harm.length + 2)
  })

  it.each(['jobs', 'jobs?state=dead', 'jobs/nobody', 'schedules'])(
    '%s fits a narrow screen, in the dark',
    async path => {
      browser.allow(/status of 404/)
      const { registry, hub } = await office(fixture, 2)
      await hub.schedule('nightly', { cron: '0 3 * * *' }, 'print:1.0')
      const page = await openPage(browser, registry, path, { viewport, colorScheme: 'dark' })
      await page.getByText('Live', { exact: true }).waitFor()
      await page.waitForLoadState('networkidle').catch(() => undefined)
      expect(await overflows(page)).toBe(false)
    },
  )
})
