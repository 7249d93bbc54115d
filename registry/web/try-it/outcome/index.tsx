import { us } from '../../text/figures.ts'
import { printable } from '../../text/printable.ts'
import type { FinishedRun } from '../run/finished.ts'
import { FailureView } from './failure.tsx'
import { PhaseBar } from './phase-bar.tsx'
import { Result } from './result.tsx'

interface OutcomeProps {
  task: string
  isIdempotent: boolean
  run: FinishedRun
  previous: FinishedRun | undefined
}

/** How the last run ended. */
export const OutcomeView = ({ task, isIdempotent, run, previous }: OutcomeProps) => {
  const { outcome, phases, tookMs, id } = run
  return (
    <div class="outcome" data-outcome={outcome.ok ? 'ok' : 'failed'}>
      <div class="outcome-head">
        <h3 tabIndex={-1}>
          <span aria-hidden="true">{outcome.ok ? '✓' : '✕'}</span>{' '}
          {outcome.ok ? 'Result' : printable(outcome.failure.code)}
        </h3>
        <span class="quiet">after {us(tookMs * 1000)}</span>
        {id !== undefined && (
          <span class="quiet call-id">
            id <code>{printable(id)}</code>
          </span>
        )}
      </div>
      {/* Why it failed comes first: where its time went explains little of that. */}
      {!outcome.ok && <FailureView failure={outcome.failure} isIdempotent={isIdempotent} />}
      {phases && <PhaseBar phases={phases} />}
      {/* Of a stream that has no result beside its chunks these are all. */}
      {outcome.ok && !(outcome.chunks && outcome.text === 'null') && (
        <Result key={run.atMs} task={task} text={outcome.text} node={outcome.node} previous={previous} />
      )}
    </div>
  )
}

/** The same in one sentence, for who does not see it. */
export const outcomeSentence = ({ outcome, tookMs }: FinishedRun): string => {
  const after = `after ${us(tookMs * 1000)}`
  return outcome.ok
    ? `The result came ${after}.`
    : `Failed ${after}: ${outcome.failure.code}. ${outcome.failure.detail}`
}
