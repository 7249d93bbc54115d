import { useEffect, useId, useRef, useState } from 'preact/hooks'
import { Dialog } from '../../parts/dialog.tsx'
import { ms } from '../../text/figures.ts'
import { printable } from '../../text/printable.ts'
import type { CallChoices } from './call-choices.ts'
import type { FinishedRun } from './finished.ts'
import { runTask } from './gateway.ts'
import { HistogramView } from './histogram-view.tsx'
import { summaryOf } from './repeat-summary.ts'
import type { Danger } from './use-danger.tsx'

interface RepeatProps {
  task: string
  args: unknown
  choices: CallChoices
  isIdempotent: boolean
  danger: Danger
  /** Why these arguments cannot be run; undefined when they can. */
  obstacle(): string | undefined
  tell(message: string): void
}

const mostRuns = 100
/** After these none of the next will do better. */
const hopeless = new Set(['TooManyRequests', 'Unauthorized', 'Forbidden', 'InvalidArgs', 'NoSuchTask'])

/** Runs the same arguments one after the other, and sums up how long they took. */
export const Repeat = ({ task, args, choices, isIdempotent, danger, obstacle, tell }: RepeatProps) => {
  const own = useId()
  const [text, setText] = useState('20')
  const [runs, setRuns] = useState<readonly FinishedRun[]>([])
  const [abort, setAbort] = useState<AbortController>()
  const current = useRef(abort)
  current.current = abort
  useEffect(() => () => current.current?.abort(), [])
  const [isAsking, setAsking] = useState(false)
  const ask = () => {
    // Whoever types its name has been asked.
    if (danger.isDangerous) danger.ask(`Run it ${text} times`, () => void start())
    else if (isIdempotent) void start()
    else setAsking(true)
  }
  const start = async () => {
    setAsking(false)
    const count = Number(text)
    const wrong =
      Number.isInteger(count) && count >= 2 && count <= mostRuns ? undefined : `Choose from 2 to ${mostRuns} runs.`
    const refused = wrong ?? obstacle()
    if (refused !== undefined) return tell(refused)
    const giveUp = new AbortController()
    setAbort(giveUp)
    const finished: FinishedRun[] = []
    while (finished.length < count && !giveUp.signal.aborted) {
      const one = await runTask(task, args, choices, giveUp.signal)
      if (giveUp.signal.aborted) break
      finished.push(one)
      setRuns([...finished])
      if (!one.outcome.ok && hopeless.has(one.outcome.failure.code)) break
    }
    setAbort(undefined)
    tell(`${finished.length} runs are finished.`)
  }
  return (
    <details class="fold">
      <summary>Repeat</summary>
      <div class="run-controls">
        <label for={own}>Runs, one after the other</label>
        <input
          id={own}
          inputMode="numeric"
          size={4}
          value={text}
          onInput={event => setText(event.currentTarget.value)}
        />
        {abort ? (
          <button type="button" onClick={() => abort.abort()}>
            Stop
          </button>
        ) : (
          <button type="button" onClick={ask}>
            Repeat
          </button>
        )}
        {!isIdempotent && (
          <span class="quiet">The task is not declared idempotent: every run repeats its effects.</span>
        )}
      </div>
      {isAsking && (
        <Dialog title={`Run it ${text} times?`} onClose={() => setAsking(false)}>
          <p>The task is not declared idempotent: every run repeats its effects.</p>
          <div class="dialog-actions">
            <button type="button" onClick={() => setAsking(false)}>
              Cancel
            </button>
            <button type="button" class="main" onClick={() => void start()}>
              Run it {text} times
            </button>
          </div>
        </Dialog>
      )}
      {runs.length > 0 && <Summary runs={runs} />}
    </details>
  )
}

const Summary = ({ runs }: { runs: readonly FinishedRun[] }) => {
  const timesMs = runs.flatMap(({ outcome, tookMs }) => (outcome.ok ? [tookMs] : []))
  return (
    <>
      <Figures runs={runs} />
      {timesMs.length > 1 && <HistogramView timesMs={timesMs} />}
    </>
  )
}

const Figures = ({ runs }: { runs: readonly FinishedRun[] }) => {
  const { done, ok, failures, waits } = summaryOf(runs)
  return (
    <dl class="repeat-summary">
      <Figure name="Runs" text={String(done)} />
      <Figure name="Succeeded" text={String(ok)} />
      {failures.map(([code, count]) => (
        <Figure key={code} name={printable(code)} text={String(count)} />
      ))}
      {waits && (
        <>
          <Figure name="Fastest" text={ms(waits.least)} />
          <Figure name="p50" text={ms(waits.p50)} />
          <Figure name="p95" text={ms(waits.p95)} />
          <Figure name="Slowest" text={ms(waits.most)} />
        </>
      )}
    </dl>
  )
}

const Figure = ({ name, text }: { name: string; text: string }) => (
  <div>
    <dt>{name}</dt>
    <dd>{text}</dd>
  </div>
)
