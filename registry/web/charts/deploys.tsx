import type { Deploy } from '../../contract.ts'
import { Text } from '../parts/text.tsx'
import { Ago } from '../parts/time.tsx'
import { count } from '../text/figures.ts'
import { printable } from '../text/printable.ts'
import type { ChartMark } from './mark-places.ts'

const shown = 8

const wordsOf = ({ kind, what, queue }: Deploy): string => {
  if (kind === 'build') return `${queue}: build ${what}`
  if (kind === 'client') return `${what} in queue ${queue}`
  return kind === 'schema' ? `${what}, declared again` : what
}

export const marksOf = (deploys: readonly Deploy[]): ChartMark[] =>
  deploys.map(deploy => ({ atMs: deploy.atMs, text: printable(wordsOf(deploy)) }))

/** What the lines across the charts are, in words; the latest first. */
export const Deploys = ({ deploys }: { deploys: readonly Deploy[] }) => {
  if (deploys.length === 0) return null
  const latest = deploys.toReversed()
  return (
    <div class="deploys">
      <h3 id="deploys">Deployed</h3>
      <ul aria-labelledby="deploys">
        {latest.slice(0, shown).map(deploy => (
          <li key={`${deploy.atMs} ${deploy.kind} ${deploy.what} ${deploy.queue}`}>
            <Text>{wordsOf(deploy)}</Text> <Ago atMs={deploy.atMs} />
          </li>
        ))}
        {latest.length > shown && <li class="quiet">and {count(latest.length - shown)} before</li>}
      </ul>
    </div>
  )
}
