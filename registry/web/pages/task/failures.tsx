import { useMemo } from 'preact/hooks'
import type { TaskDetail } from '../../../contract.ts'
import { failuresPath } from '../../address/paths.ts'
import { useQuery } from '../../address/use-query.ts'
import { Text } from '../../parts/text.tsx'
import { failureGroups, failurePage, failureView } from '../../rows/failures.ts'
import { FailureTable } from '../../tables/failures.tsx'
import { count } from '../../text/figures.ts'

/** What failed of a task in the last hour, or was not run. */
export const Failures = ({ detail: { row, failures, unanswered } }: { detail: TaskDetail }) => {
  const state = useQuery()
  const groups = useMemo(() => failureGroups(failures, unanswered), [failures, unanswered])
  const view = failureView({ sort: state.query.sort ?? '' })
  const { shown } = failurePage(groups, view)
  return (
    <section class="part" aria-labelledby="failures">
      <div class="part-head">
        <h2 id="failures">Recent failures</h2>
        <a href={failuresPath({ task: row.task })}>All, with search</a>
      </div>
      <Errors errors={{ ...row.load.failed, ...row.load.notRun }} />
      {shown.length === 0 ? (
        <p class="quiet">No call failed or was rejected in the last hour.</p>
      ) : (
        <FailureTable groups={shown} view={view} state={state} of="task" />
      )}
    </section>
  )
}

/** How often which code came in the last minute. */
const Errors = ({ errors: byCode }: { errors: Record<string, number> }) => {
  const errors = Object.entries(byCode)
  if (errors.length === 0) return null
  return (
    <ul class="chips">
      {errors.map(([code, times]) => (
        <li key={code}>
          <Text class="short">{code}</Text> <span class="quiet">{count(times)} in the last minute</span>
        </li>
      ))}
    </ul>
  )
}
