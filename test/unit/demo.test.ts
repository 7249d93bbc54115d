import { describe, expect, it } from 'vitest'
import { readOptions } from '../../examples/demo/run/options.mjs'
import { html } from '../../examples/demo/web/html.mjs'
import { searchPage } from '../../examples/demo/web/other-pages.mjs'

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

describe('the command line of the demo', () => {
  it('rejects unknown options and values', () => {
    expect(readOptions([])).toEqual({ once: false, help: false, cityId: 2988507 })
    expect(readOptions(['--once', '--city=5'])).toEqual({ once: true, help: false, cityId: 5 })
    for (const wrong of [['--onec'], ['-v'], ['now'], ['--once=yes'], ['--city'], ['--city', 'Rome']])
      expect(readOptions(wrong).problem).toBeTruthy()
  })
})
