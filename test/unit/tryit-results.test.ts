import { describe, expect, it } from 'vitest'
import { mostColumns, sortedRows, tablesIn } from '../../registry/web/json/table.ts'
import { readJson, writtenJson } from '../../registry/web/json/text.ts'
import { histogramOf } from '../../registry/web/try-it/run/histogram.ts'

const tables = (value: unknown) => tablesIn(readJson(JSON.stringify(value)))

describe('a result as a table', () => {
  it('is there for a list of objects, with a column for each member that any of them has', () => {
    const [table] = tables([{ a: 1 }, { b: 2, a: 3 }, {}])
    expect(table).toMatchObject({ pointer: '', columns: ['a', 'b'], leftOut: 0 })
    expect(table!.rows.map(row => [row.get('a')?.kind, row.get('b')?.kind])).toEqual([
      ['number', undefined],
      ['number', 'number'],
      [undefined, undefined],
    ])
  })

  it('is there for lists of objects that are members of the result', () => {
    expect(tables({ total: 2, 'a/b': [{ a: 1 }], names: ['x'], b: [{ c: 1 }] }).map(({ pointer }) => pointer)).toEqual([
      '/a~1b',
      '/b',
    ])
  })

  it.each([[[]], [[1]], [[{ a: 1 }, null]], [{ a: { b: [{ c: 1 }] } }], ['text'], [null]])(
    'is not there for %j',
    value => {
      expect(tables(value)).toEqual([])
    },
  )

  it('has no more columns than fit, and says how many it left out', () => {
    const wide = Object.fromEntries(Array.from({ length: mostColumns + 7 }, (_, at) => [`m${at}`, at]))
    expect(tables([wide])[0]).toMatchObject({ leftOut: 7 })
    expect(tables([wide])[0]!.columns).toHaveLength(mostColumns)
  })

  it('is sorted by a column: numbers, then texts; what is not there comes last either way', () => {
    const { rows } = tables([{ a: 'b' }, { a: 10 }, {}, { a: 9 }, { a: 'a10' }, { a: 'a9' }, { a: true }])[0]!
    const order = (isDown: boolean) =>
      sortedRows(rows, { column: 'a', isDown }).map(row => (row.has('a') ? writtenJson(row.get('a')!) : '-'))
    expect(order(false)).toEqual(['9', '10', '"a9"', '"a10"', '"b"', 'true', '-'])
    expect(order(true)).toEqual(['true', '"b"', '"a10"', '"a9"', '10', '9', '-'])
  })

  it('is written with numbers as they came', () => {
    const text = '{"a":[12345678901234567890,1.50,"\\n"],"b":null,"":{}}'
    expect(writtenJson(readJson(text))).toBe(text)
  })
})

describe('a histogram of times', () => {
  it('counts each time once, whatever they are', () => {
    for (const times of [
      [0, 0],
      [0, 5],
      [0.0001, 9000],
      [1, 12],
      [1, 12.1],
      [599_999, 600_000],
      [5, 5, 10, 20, 50, 100],
    ]) {
      const bins = histogramOf(times)
      expect(
        bins.reduce((sum, { count }) => sum + count, 0),
        String(times),
      ).toBe(times.length)
      expect(bins.length, String(times)).toBeLessThan(40)
      for (const [at, bin] of bins.slice(1).entries()) expect(bin.fromMs).toBe(bins[at]!.toMs)
    }
  })
})
