import type { Problem } from 'pshub'
import { own } from '../../../schema/steps.ts'
import { nodeOf } from '../../json/exact.ts'
import { JsonTree } from '../../json/tree.tsx'
import { printable, printableLines } from '../../text/printable.ts'
import type { Failure } from '../run/finished.ts'
import { meaningOf, ranText, repeatText } from './explain.ts'

/** How a run failed, what that means, whether it ran, and whether it may be tried again. */
export const FailureView = ({ failure, isIdempotent }: { failure: Failure; isIdempotent: boolean }) => {
  const rows = [
    ['What it means', meaningOf(failure)],
    ['Did it run?', ranText(failure)],
    ['Run again?', repeatText(failure, isIdempotent)],
  ] as const
  const data = withoutProblems(failure.data)
  return (
    <div class="failure">
      <p class="failure-message">{printableLines(failure.detail)}</p>
      <dl>
        {rows.map(
          ([name, text]) =>
            text && (
              <div key={name}>
                <dt>{name}</dt>
                <dd>{printable(text)}</dd>
              </div>
            ),
        )}
      </dl>
      {data !== undefined && (
        <>
          <h4>Details from the task</h4>
          <JsonTree node={nodeOf(data)} />
        </>
      )}
    </div>
  )
}

/** Problems are shown at their fields. */
const withoutProblems = (data: unknown): unknown => (problemsOf(data).length > 0 ? undefined : (data ?? undefined))

/** The offending fields that an error names; empty when it names none, or something else under that name. */
export const problemsOf = (data: unknown): Problem[] => {
  const problems = own(data, 'problems')
  if (!Array.isArray(problems)) return []
  return problems
    .filter(one => typeof own(one, 'pointer') === 'string' && typeof own(one, 'message') === 'string')
    .slice(0, 100) as Problem[]
}
