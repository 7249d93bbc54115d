import type { SlowCallOverview } from 'pshub'
import { slowPath } from '../address/paths.ts'
import { useQuery } from '../address/use-query.ts'
import { slowPage, slowView } from '../rows/slow-calls.ts'
import { SlowCallTable } from './slow-calls.tsx'

const most = 20

interface SlowCallsPartProps {
  id: string
  calls: readonly SlowCallOverview[]
  /** Of which page it is a part. */
  of: 'task' | 'worker'
  /** What the page of all slow calls is asked for. */
  query: Parameters<typeof slowPath>[0]
  none: string
}

/** The slowest calls of the last minutes, and where their time went, as a part of another page. */
export const SlowCallsPart = ({ id, calls, of, query, none }: SlowCallsPartProps) => {
  const state = useQuery()
  const view = slowView({ sort: state.query.sort ?? '' })
  const { shown } = slowPage(calls, view)
  return (
    <section class="part" aria-labelledby={id}>
      <div class="part-head">
        <h2 id={id}>Slowest calls of the last 5 minutes</h2>
        <a href={slowPath(query)}>All, with search</a>
      </div>
      {shown.length === 0 ? (
        <p class="quiet">{none}</p>
      ) : (
        <SlowCallTable calls={shown.slice(0, most)} view={view} state={state} of={of} />
      )}
    </section>
  )
}
