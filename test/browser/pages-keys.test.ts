import { describe, expect, it } from 'vitest'
import { useBrowser } from '../support/browser.ts'
import { openPage, overflows, shopTasks, textOf } from '../support/pages-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const browser = useBrowser()

const shop = async () => {
  const registry = await fixture.registry()
  await fixture.worker(shopTasks(), { queue: 'images' })
  return registry
}

const focused = 'document.activeElement.textContent || document.activeElement.placeholder'

describe('by keyboard alone', () => {
  it('one gets everywhere', async () => {
    const page = await openPage(browser, await shop(), '')
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    for (const [key, title] of [
      ['t', 'Tasks'],
      ['w', 'Workers'],
      ['q', 'Queues'],
      ['j', 'Jobs'],
      ['s', 'Schedules'],
      ['f', 'Failures'],
      ['c', 'Slow calls'],
      ['o', 'Overview'],
    ]) {
      await page.keyboard.press('g')
      await page.keyboard.press(key!)
      await page.getByRole('heading', { name: title!, level: 1 }).waitFor()
      await expect.poll(() => page.evaluate(focused)).toBe(title)
      expect(await page.title()).toContain(title)
    }
    await page.keyboard.press('/')
    await page.getByRole('heading', { name: 'Tasks', level: 1 }).waitFor()
    await expect.poll(() => page.evaluate(focused)).toContain('Search tasks')
    // Letters are a search now, not keys.
    await page.keyboard.type('gq?')
    expect(new URL(page.url()).search).toBe('?q=gq%3F')
    await page.keyboard.press('Control+A')
    await page.keyboard.type('always')
    await page.getByText('1 of 3 tasks').waitFor()
    await page.keyboard.press('Escape')
    expect(await page.getByRole('searchbox').inputValue()).toBe('always')
    await page.keyboard.press('?')
    const help = page.getByRole('dialog', { name: 'Keys' })
    await help.getByText('Go to the workers').waitFor()
    await browser.screenshot(page, 'pages-help')
    await page.keyboard.press('Escape')
    await expect.poll(() => help.count()).toBe(0)
  })

  it('the way through a page goes by what can be used, each of which shows that it is there', async () => {
    const page = await openPage(browser, await shop(), 'tasks')
    await page.getByText('3 tasks').waitFor()
    const seen: string[] = []
    while (!seen.includes('always_fails')) {
      expect(seen.length, String(seen)).toBeLessThan(60)
      await page.keyboard.press('Tab')
      seen.push(String(await page.evaluate(`${focused} || document.activeElement.tagName`)))
      const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineStyle')
      expect([seen.at(-1), outline]).toEqual([seen.at(-1), 'solid'])
    }
    expect(seen[0]).toBe('Skip to content')
    expect(seen.slice(1, 6)).toEqual([`pshub ${fixture.namespace}`, 'Overview', 'Tasks', 'Workers', 'Queues'])
    await page.getByRole('link', { name: 'always_fails' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'always_fails:1.0' }).waitFor()
  })
})

describe('the theme', () => {
  const ground = 'getComputedStyle(document.body).backgroundColor'
  const [light, dark] = ['rgb(246, 246, 244)', 'rgb(19, 21, 25)']

  it('is the system’s, or the one that was chosen, and is kept', async () => {
    const page = await openPage(browser, await shop(), '', { colorScheme: 'dark' })
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    expect(await page.evaluate(ground)).toBe(dark)
    await page.emulateMedia({ colorScheme: 'light' })
    expect(await page.evaluate(ground)).toBe(light)
    await page.getByLabel('Theme').selectOption('Dark')
    expect(await page.evaluate(ground)).toBe(dark)
    await page.reload()
    await page.getByRole('img', { name: /^Backlog\. / }).waitFor()
    expect(await page.evaluate(ground)).toBe(dark)
    await browser.screenshot(page, 'pages-dark')
  })
})

describe('a narrow screen', () => {
  const viewport = { width: 390, height: 844 }

  it.each([
    '',
    'tasks',
    'tasks/resize_image:1.0',
    'workers',
    'queues',
    'queues/images',
    'failures',
    'slow',
    'nothing/here',
  ])('holds /%s', async path => {
    browser.allow(/status of 404/)
    const page = await openPage(browser, await shop(), path, { viewport })
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    expect(await overflows(page)).toBe(false)
    await browser.screenshot(page, `pages-narrow-${path.replace(/\W+/g, '-') || 'overview'}`)
  })

  it('holds names and hosts that somebody meant to break it with', async () => {
    const registry = await fixture.registry()
    const long = `x${'y'.repeat(99)}:1.0`
    await fixture.worker(shopTasks().slice(0, 1))
    const { namespace, redis } = fixture
    const harm = `<script>document.title='ran'</script>\u202e${'W'.repeat(3000)}`
    const card = { task: long, queue: 'q', description: harm, at: Math.floor(Date.now() / 1000) }
    await redis.hset(`${namespace}:tasks`, long, JSON.stringify(card))
    // As long as an id may be, to be read at all.
    const id = harm.slice(0, 250)
    const worker = {
      id,
      queue: 'q',
      host: harm,
      pid: 1,
      slots: 1e9,
      client: harm,
      tasks: { [long]: harm, [harm]: '' },
    }
    await redis.hset(`${namespace}:workers`, id, JSON.stringify(worker))
    await redis.zadd(`${namespace}:{q}:leases`, Date.now() + 600_000, id)
    fixture.onEnd(() => redis.zrem(`${namespace}:{q}:leases`, id))
    const page = await openPage(browser, registry, 'tasks', { viewport })
    for (const path of [
      'tasks',
      `tasks/${long}`,
      `tasks/${long}?part=workers`,
      'workers',
      'queues/q',
      'failures',
      'slow',
      `workers/${encodeURIComponent(id)}`,
      `tasks?q=${'z'.repeat(500)}`,
    ]) {
      await page.goto(registry.at(path))
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.getByText('Live', { exact: true }).waitFor()
      expect([path, await overflows(page)]).toEqual([path, false])
      expect(await page.title()).toContain('pshub')
    }
    await page.goto(registry.at('workers'))
    await page.getByRole('button', { name: '2 tasks' }).click()
    expect(await overflows(page)).toBe(false)
    expect(await textOf(page.locator('main'))).toContain("<script>document.title='ran'</script>\\u202eWWW")
    await browser.screenshot(page, 'pages-hostile')
    for (const path of ['tasks', 'workers', 'queues', '']) {
      await page.setViewportSize({ width: 820, height: 900 })
      await page.goto(registry.at(path))
      await page.getByText('Live', { exact: true }).waitFor()
      expect([path, await overflows(page)]).toEqual([path, false])
    }
  })
})
