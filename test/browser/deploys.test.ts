import { expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useBrowser } from '../support/browser.ts'
import { openPage } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()
const resize = (version: string) => defineTask(`resize:${version}`, {}, async () => null)

it('a worker that is replaced by one of a newer version is a line across the charts', async () => {
  const registry = await fixture.registry()
  const old = await fixture.worker([resize('1.0')], { queue: 'images' })
  await fixture.worker([defineTask('mail:1.0', {}, async () => null)], { queue: 'mail' })
  const page = await openPage(browser, registry, '')
  await page.getByRole('img', { name: /^Calls per second/ }).waitFor()
  expect(await page.locator('.chart-mark').count()).toBe(0)
  await fixture.worker([resize('2.0')], { queue: 'images' })
  await old.stop()
  const list = page.getByRole('list', { name: 'Deployed' })
  await list.getByText('resize:2.0').waitFor()
  expect(await list.getByRole('listitem').count()).toBe(1)
  await expect.poll(() => page.locator('.chart-mark').count()).toBe(6)
  expect(await page.locator('.chart-mark').first().getAttribute('title')).toBe('resize:2.0')
  await page.getByRole('img', { name: /^Calls per second.* Deployed meanwhile: resize:2\.0\.$/ }).waitFor()
  await browser.screenshot(page, 'deploys-overview')
  for (const task of ['resize:2.0', 'resize:1.0']) {
    await page.goto(registry.at(`tasks/${task}?part=live&range=1h`))
    await list.getByText('resize:2.0').waitFor()
    await expect.poll(() => page.locator('.chart-mark-label').allInnerTexts()).toEqual(Array(4).fill('resize:2.0'))
  }
  await page.goto(registry.at('queues/mail'))
  await page.getByRole('img', { name: /^Backlog/ }).waitFor()
  expect(await list.count()).toBe(0)
})

it('a new build of a program whose tasks stay the same is one, however many workers run it', async () => {
  const registry = await fixture.registry()
  const run = (build: string) => fixture.worker([resize('1.0')], { queue: 'images', build })
  const old = await run('9c01d4')
  const page = await openPage(browser, registry, 'queues/images')
  await page.getByRole('img', { name: /^Backlog/ }).waitFor()
  expect(await page.locator('.chart-mark').count()).toBe(0)
  const next = await Promise.all([run('3f2c1a'), run('3f2c1a')])
  const list = page.getByRole('list', { name: 'Deployed' })
  await list.getByText('images: build 3f2c1a').waitFor()
  await old.stop()
  expect(await list.getByRole('listitem').count()).toBe(1)
  await page.getByRole('img', { name: /^Backlog.* Deployed meanwhile: images: build 3f2c1a\.$/ }).waitFor()
  await browser.screenshot(page, 'deploys-build')
  await page.goto(registry.at('workers'))
  await page.getByText('build 3f2c1a').first().waitFor()
  await page.goto(registry.at(`workers/${next[0]!.id}`))
  await page.locator('.facts', { hasText: 'Build' }).getByText('3f2c1a').waitFor()
})
