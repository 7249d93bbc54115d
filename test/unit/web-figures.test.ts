import { describe, expect, it } from 'vitest'
import { safeAddress } from '../../registry/web/address/safe.ts'
import { linePaths } from '../../registry/web/charts/line-paths.ts'
import { placedLabels } from '../../registry/web/charts/mark-places.ts'
import { ago, amount, bytes, count, ms, percent, perSecond, plural, span, us } from '../../registry/web/text/figures.ts'
import { printable, printableLines } from '../../registry/web/text/printable.ts'

describe('figures as people read them', () => {
  it.each([
    [us(undefined), '–'],
    [us(830), '830 µs'],
    [us(4_240), '4.2 ms'],
    [us(9_960), '10 ms'],
    [us(420_400), '420 ms'],
    [us(999_700), '1 s'],
    [us(4_240_000), '4.2 s'],
    [ms(0), '0 ms'],
    [ms(0.2), '200 µs'],
    [ms(200_000), '3 min 20 s'],
    [span(0), '0 s'],
    [span(59_400), '59 s'],
    [span(3_600_000), '1 h'],
    [span(2 * 86_400_000 + 4 * 3_600_000 + 5000), '2 d 4 h'],
    [span(-5), '0 s'],
    [ago(400), 'now'],
    [ago(-3000), 'now'],
    [ago(2000), '2 s ago'],
    [ago(7_300_000), '2 h ago'],
    [percent(0), '0 %'],
    [percent(0.000_01), '<0.1 %'],
    [percent(0.041), '4.1 %'],
    [percent(1), '100 %'],
    [amount(0), '0'],
    [amount(0.001), '<0.01'],
    [amount(0.421), '0.42'],
    [amount(4.04), '4'],
    [amount(12_345.6), '12,346'],
    [perSecond(Number.NaN), '–'],
    [count(1_234_567), '1,234,567'],
    [bytes(999), '999 B'],
    [bytes(264_867_840), '265 MB'],
    [bytes(1.2e15), '1,200 TB'],
    [plural(1, 'worker'), '1 worker'],
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

  it('shows a lone value as a dash, and nothing as nothing', () => {
    expect(linePaths([null, 4, null], box).line).toMatch(/^M15 1L\d/)
    expect(linePaths([null, null], box)).toEqual({ line: '', area: '' })
    expect(linePaths([], box)).toEqual({ line: '', area: '' })
    expect(linePaths([0, 0], { ...box, highest: 0 }).line).toBe('M0 9L30 9')
  })
})

describe('labels of lines across a chart', () => {
  const text = 'resize:2.0'
  const at = (...xs: number[]) =>
    placedLabels(
      xs.map(x => ({ x, text })),
      300,
    )

  it('are where there is room for them, and cover neither another one nor a line', () => {
    expect(at(10)).toEqual([{ isAtLeft: false, room: 290 }])
    expect(at(290)).toEqual([{ isAtLeft: true, room: 290 }])
    expect(at(100, 150, 290)).toEqual([
      { isAtLeft: true, room: 100 },
      { isAtLeft: false, room: 140 },
      { isAtLeft: true, room: 78 },
    ])
  })

  it('are left out where there is no room', () => {
    expect(at(10, 40, 70, 290)).toEqual([
      undefined,
      undefined,
      { isAtLeft: false, room: 220 },
      { isAtLeft: true, room: 158 },
    ])
    expect(at(270, 280, 290)).toEqual([{ isAtLeft: true, room: 270 }, undefined, undefined])
  })
})
