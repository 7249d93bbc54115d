import { clock, dateTime, us } from '../../text/figures.ts'
import { printable } from '../../text/printable.ts'
import { maxRuns, type PastRun } from './store.ts'

interface HistoryProps {
  runs: readonly PastRun[]
  onUse(run: PastRun): void
  onClear(): void
}

/** Runs made in this browser. */
export const HistoryView = ({ runs, onUse, onClear }: HistoryProps) => (
  <details class="fold">
    <summary>
      History <span class="quiet">{runs.length}</span>
    </summary>
    {runs.length === 0 ? (
      <p class="quiet">
        Your last {maxRuns} runs of this task appear here, with arguments and outcome. They are kept in this browser
        only.
      </p>
    ) : (
      <>
        <ul class="history">
          {runs.map(run => (
            <li key={run.atMs}>
              <time dateTime={new Date(run.atMs).toISOString()} title={dateTime(run.atMs)}>
                {clock(run.atMs)}
              </time>
              <span class="history-outcome" data-outcome={run.outcome === 'ok' ? 'ok' : 'failed'}>
                {printable(run.outcome)}
              </span>
              <span class="quiet">{us(run.tookMs * 1000)}</span>
              <code class="history-args">
                {run.args === undefined
                  ? run.isWhole
                    ? 'too large to keep'
                    : 'may be secret and are not kept'
                  : printable(run.args.slice(0, 200))}
              </code>
              <button type="button" disabled={run.args === undefined} onClick={() => onUse(run)}>
                Use again<span class="visually-hidden"> the arguments of {clock(run.atMs)}</span>
              </button>
              {!run.isWhole && run.args !== undefined && <span class="quiet">without its secret fields</span>}
            </li>
          ))}
        </ul>
        <button type="button" onClick={onClear}>
          Clear history
        </button>
      </>
    )}
  </details>
)
