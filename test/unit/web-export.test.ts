import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { eachFailure, exportedFailures } from '../../registry/web/rows/exported.ts'
import { failureGroups } from '../../registry/web/rows/failures.ts'
import { type Cell, csvOf } from '../../registry/web/text/csv.ts'

/** Another reader of RFC 4180 than the writer: cells of lines, by its grammar. */
const read = (text: string): string[][] => {
  const lines: string[][] = []
  let rest = text
  while (rest !== '') {
    const line: string[] = []
    for (;;) {
      const [whole, quoted, plain] = /^(?:"((?:[^"]|"")*)"|([^",\r\n]*))/.exec(rest)!
      line.push(quoted === undefined ? plain! : quoted.replaceAll('""', '"'))
      rest = rest.slice(whole.length)
      if (!rest.startsWith(',')) break
      rest = rest.slice(1)
    }
    if (!rest.startsWith('\r\n')) throw new Error(`no end of a line: ${JSON.stringify(rest.slice(0, 20))}`)
    rest = rest.slice(2)
    lines.push(line)
  }
  return lines
}

describe('CSV', () => {
  it('quotes what needs it, and nothing else', () => {
    const rows = [['plain', 'a,b', 'say "so"', 'two\r\nlines', 'two\nlines', '']]
    expect(csvOf(['x'], rows)).toBe('x\r\nplain,"a,b","say ""so""","two\r\nlines","two\nlines",\r\n')
  })
  it('keeps spreadsheets from running a text; numbers stay numbers', () => {
    const cells = ['=1+1', '+1', '-1', '@SUM(A1)', '\t=1', '\r=1', '＝1', 'a=1', -1, 1.5, true]
    expect(read(csvOf(['=name'], [cells]))).toEqual([
      ["'=name"],
      ["'=1+1", "'+1", "'-1", "'@SUM(A1)", "'\t=1", "'\r=1", "'＝1", 'a=1', '-1', '1.5', 'true'],
    ])
  })
  it('leaves empty what is not known or no number', () =>
    expect(csvOf(['a', 'b', 'c'], [[undefined, Number.NaN, Number.POSITIVE_INFINITY]])).toBe('a,b,c\r\n,,\r\n'))
  it('is read again as it was written, whatever is in it', () => {
    const cell = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('=', '"', ',', '\r\n', "'"), fc.integer())
    const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 2 }))
    fc.assert(
      fc.property(table, rows => {
        const shown = (value: Cell) =>
          typeof value === 'string' && /^[=+\-@\t\r\n＝＋－＠]/.test(value) ? `'${value}` : String(value)
        expect(read(csvOf(['a', 'b'], rows)).slice(1)).toEqual(rows.map(row => row.map(shown)))
      }),
    )
  })
})

describe('rows of a file', () => {
  it('are single calls where a table has them in groups', () => {
    const failure = {
      code: 'TaskFailed',
      message: 'no',
      execUs: 5,
      task: 'a:1.0',
      queue: 'q',
      host: 'h',
      pid: 1,
    } as const
    const groups = failureGroups(
      [
        { ...failure, id: 'x', at: 1_700_000_000_000_000, worker: 'w' },
        { ...failure, id: 'y', at: Number.NaN, worker: 'w' },
      ],
      [],
    )
    expect(groups).toHaveLength(1)
    const rows = eachFailure(groups)
    expect(rows.map(exportedFailures.request!)).toEqual(['x', 'y'])
    expect(rows.map(exportedFailures.endedAt!)).toEqual(['2023-11-14T22:13:20.000Z', undefined])
  })
})
