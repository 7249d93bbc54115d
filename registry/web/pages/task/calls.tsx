import type { TaskDetail } from '../../../contract.ts'
import { slowPath } from '../../address/paths.ts'
import { useQuery } from '../../address/use-query.ts'
import { slowPage, slowView } from '../../rows/slow-calls.ts'
import { SlowCallTable } from '../../tables/slow-calls.tsx'

const most = 20

/** The slowest calls of a task in the last minutes, and where their time went. */
export const SlowCalls = ({ detail: { row, slow } }: { detail: TaskDetail }) => {
  const state = useQuery()
  const view = slowView({ sort: state.query.sort ?? '' })
  const { shown } = slowPage(slow, view)
  return (
    <section class="part" aria-labelledby="slow">
      <div class="part-head">
        <h2 id="slow">Slowest calls of the last 5 minutes</h2>
        <a href={slowPath({ task: row.task })}>All, with search</a>
      </div>
      {shown.length === 0 ? (
        <p class="quiet">No call took longer than a millisecond.</p>
      ) : (
        <SlowCallTable calls={shown.slice(0, most)} view={view} state={state} of="task" />
      )}
    </section>
  )
}
