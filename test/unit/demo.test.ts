import { describe, expect, it } from 'vitest'
import { readOptions } from '../../examples/demo/run/options.mjs'
import { cityCalls, gatherPage, moonTask } from '../../examples/demo/web/calls.mjs'
import { html } from '../../examples/demo/web/html.mjs'
import { searchPage } from '../../examples/demo/web/other-pages.mjs'
import { gapText } from '../../examples/demo/web/parts.mjs'

describe('the pages of the demo', () => {
  it('escape every value, in text and in attributes', () => {
    const evil = `"><script>alert('x')</script>&`
    const escaped = '&quot;&gt;&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;'
    expect(String(html`<p title="${evil}">${[evil, html`<b>${evil}</b>`]}${null}${false}</p>`)).toBe(
      `<p title="${escaped}">${escaped}<b>${escaped}</b></p>`,
    )
    const found = { ok: true, value: { matches: 0, cities: [] }, ms: 1 }
    // biome-ignore lint/suspicious/noExplicitAny: the shape that gatherPage returns
    expect(searchPage(evil, { parts: { found }, timings: [], totalMs: 1 } as any)).not.toContain('<script')
  })
})

it('a page of the demo calls the task in Python only once it is declared', async () => {
  let declared: string[] = []
  const gathered: string[][] = []
  const hub = {
    tasks: async () => declared.map(task => ({ task })),
    gather: async (calls: object) => {
      gathered.push(Object.keys(calls))
      return Object.fromEntries(Object.keys(calls).map(part => [part, { ok: true, value: {}, ms: 1 }]))
    },
  }
  // biome-ignore lint/suspicious/noExplicitAny: what a page needs of a hub, and calls that JavaScript declares
  const page = () => gatherPage(hub as any, cityCalls(1) as any)
  const before = await page()
  expect(gathered.pop()).not.toContain('moon')
  expect(gapText('moon', before.parts.moon!)).toMatch(/^the moon tonight: not available right now .*first start/)
  declared = [moonTask]
  expect((await page()).parts.moon!.ok).toBe(true)
  expect(gathered.pop()).toContain('moon')
})

describe('the command line of the demo', () => {
  it('rejects unknown options and values', () => {
    expect(readOptions([])).toEqual({ once: false, help: false, cityId: 2988507 })
    expect(readOptions(['--once', '--city=5'])).toEqual({ once: true, help: false, cityId: 5 })
    for (const wrong of [['--onec'], ['-v'], ['now'], ['--once=yes'], ['--city'], ['--city', 'Rome']])
      expect(readOptions(wrong).problem).toBeTruthy()
  })
})
