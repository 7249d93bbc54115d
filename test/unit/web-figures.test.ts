import { describe, expect, it } from 'vitest'
import { safeAddress } from '../../registry/web/address/safe.ts'
import { linePaths } from '../../registry/web/charts/line-paths.ts'
import { ago, amount, bytes, count, ms, percent, perSecond, plural, span, us } from '../../registry/web/text/figures.ts'
import { printable, printableLines } from '../../registry/web/text/printable.ts'

describe('figures as people read them', () => {
  it.each([
    [us(undefined), '–'],
    [us(830), '830 µs'],
    [us(4_240), '4.2 ms'],
    [us(999_700), '1 s'],
    [ms(200_000), '3 min 20 s'],
    [span(2 * 86_400_000 + 4 * 3_600_000 + 5000), '2 d 4 h'],
    [span(-5), '0 s'],
    [ago(-3000), 'now'],
    [ago(2000), '2 s ago'],
    [percent(0.000_01), '<0.1 %'],
    [percent(0.041), '4.1 %'],
    [amount(0.001), '<0.01'],
    [amount(0.421), '0.42'],
    [amount(12_345.6), '12,346'],
    [perSecond(Number.NaN), '–'],
    [count(1_234_567), '1,234,567'],
    [bytes(264_867_840), '265 MB'],
    [plural(0, 'process', 'processes'), '0 processes'],
  ])('%s', (shown, wanted) => expect(shown).toBe(wanted))
})

describe('what strangers wrote', () => {
  it('has nothing hidden in it', () => {
    expect(printable('a\u202eb\u0000c\u200bd\ud800')).toBe('a\\u202eb\\u0000c\\u200bd\\ud800')
    expect(printable('two\r\nlines\tand')).toBe('two lines and')
    expect(printable(undefined)).toBe('')
    expect(printable('naïve Ελληνικά 日本 עברית')).toBe('naïve Ελληνικά 日本 עברית')
    expect(printableLines('a\r\nb\u2066')).toBe('a\nb\\u2066')
  })

  it.each([
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,<script>1</script>',
    'vbscript:x',
    'file:///etc/passwd',
    '//evil.example',
    '/tasks',
    'tasks',
    '',
  ])('is no link: %j', href => expect(safeAddress(href)).toBeUndefined())

  it('may link to http and https', () => {
    expect(safeAddress('https://example.org/a b')).toBe('https://example.org/a%20b')
    expect(safeAddress('HTTP://example.org')).toBe('http://example.org/')
  })
})

describe('a small line', () => {
  const box = { width: 30, height: 10, highest: 4, pad: 1 }

  it('is interrupted where nothing is known', () => {
    const { line, area } = linePaths([0, 4, null, 2, 4], box)
    expect(line).toBe('M0 9L7.5 1M22.5 5L30 1')
    expect(area.match(/Z/g)).toHaveLength(2)
  })
})
