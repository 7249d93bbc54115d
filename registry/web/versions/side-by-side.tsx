import { useMemo } from 'preact/hooks'
import type { JsonSchema } from 'pshub'
import { jsonLiteral } from '../json/literals.ts'
import { alignLines, type LinePair } from './line-changes.ts'

interface SideProps {
  title: string
  before: JsonSchema | undefined
  after: JsonSchema | undefined
  names: readonly [before: string, after: string]
}

const maxRows = 2_000

const linesOf = (schema: JsonSchema | undefined): string[] =>
  schema === undefined ? [] : jsonLiteral(schema, 2).split('\n')

/** Two schemas beside each other; what differs is marked by a sign, a word for who cannot see it, and colour. */
export const SideBySide = ({ title, before, after, names }: SideProps) => {
  const pairs = useMemo(() => alignLines(linesOf(before), linesOf(after)), [before, after])
  if (pairs.length === 0) return null
  return (
    <details class="side-by-side" open={pairs.length < 80}>
      <summary>{title}, side by side</summary>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard */}
      <section class="side-scroll" tabIndex={0} aria-label={`${title}, side by side`}>
        <table>
          <thead>
            <tr>
              <th scope="col" colSpan={2}>
                {names[0]}
              </th>
              <th scope="col" colSpan={2}>
                {names[1]}
              </th>
            </tr>
          </thead>
          <tbody>
            {pairs.slice(0, maxRows).map((pair, at) => (
              <Row key={at} {...pair} />
            ))}
          </tbody>
        </table>
      </section>
      {pairs.length > maxRows && <p class="quiet">{pairs.length - maxRows} more lines are not shown.</p>}
    </details>
  )
}

const Row = ({ before, after }: LinePair) => {
  const isSame = before === after
  return (
    <tr>
      <Cell line={before} sign={isSame || before === undefined ? '' : '-'} />
      <Cell line={after} sign={isSame || after === undefined ? '' : '+'} />
    </tr>
  )
}

const words = { '-': 'removed: ', '+': 'added: ' } as const

const Cell = ({ line, sign }: { line: string | undefined; sign: '' | '-' | '+' }) => {
  const mark = line === undefined ? 'none' : sign
  return (
    <>
      <td class="sign" data-sign={mark} aria-hidden="true">
        {sign}
      </td>
      <td class="line" data-sign={mark}>
        {sign !== '' && <span class="visually-hidden">{words[sign]}</span>}
        {line}
      </td>
    </>
  )
}
