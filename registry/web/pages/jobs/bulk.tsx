import { useEffect, useRef, useState } from 'preact/hooks'
import type { MatchingAction, MatchingStep } from '../../../job-contract.ts'
import { inAddress } from '../../address/in-address.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { isTyped, mostUntyped, TypeIt, whyUntyped } from '../../parts/typed.tsx'
import { type JobsView, jobsQuery } from '../../rows/jobs.ts'
import { refusal } from '../../session/access.ts'
import { type ApiFailure, post, request } from '../../session/request.ts'
import { count, plural } from '../../text/figures.ts'
import { printable } from '../../text/printable.ts'

const names: Record<MatchingAction, { button: string; ask(jobs: string): string; done: string; means: string }> = {
  retry: {
    button: 'Retry all',
    ask: jobs => `Retry ${jobs}`,
    done: 'retried',
    means: 'They go back into their queues with all their retries again; chains continue.',
  },
  delete: {
    button: 'Delete all',
    ask: jobs => `Delete ${jobs}`,
    done: 'deleted',
    means: 'This permanently deletes them and their arguments.',
  },
  run: {
    button: 'Run all now',
    ask: jobs => `Run ${jobs} now`,
    done: 'run now',
    means: 'They run as soon as slots are idle. Failed jobs keep their count of tries.',
  },
  cancel: {
    button: 'Cancel all',
    ask: jobs => `Cancel ${jobs}`,
    done: 'cancelled',
    means:
      'Waiting jobs will not run; the abort signals of running jobs fire. Running jobs and jobs of a batch can be cancelled only if they are tracked.',
  },
}

/** Does something with all jobs that match, as soon as somebody has seen how many these are. */
export const BulkButton = ({ action, view, onDone }: { action: MatchingAction; view: JobsView; onDone(): void }) => {
  const [asked, setAsked] = useState<JobsView>()
  const reason = refusal('admin')
  const { button } = names[action]
  return (
    <>
      <button
        type="button"
        aria-disabled={reason !== undefined}
        title={reason}
        aria-label={reason ? `${button}: ${reason}` : undefined}
        onClick={() => reason === undefined && setAsked(view)}
      >
        {button}…
      </button>
      {asked && (
        <BulkDialog
          action={action}
          view={asked}
          close={() => {
            setAsked(undefined)
            onDone()
          }}
        />
      )}
    </>
  )
}

interface Progress {
  phase: 'counting' | 'asking' | 'acting' | 'over'
  matching: number
  /** When they were counted, Redis milliseconds: what was given up since is left alone. */
  atMs: number | undefined
  changed: number
  skipped: number
  problem: string | undefined
}

const start: Progress = {
  phase: 'counting',
  matching: 0,
  atMs: undefined,
  changed: 0,
  skipped: 0,
  problem: undefined,
}

/** Counts first, then changes, both step by step: the service does a bounded part with each request. */
const useBulk = (action: MatchingAction, view: JobsView) => {
  const [progress, setProgress] = useState(start)
  const abort = useRef(new AbortController())
  const change = (changes: Partial<Progress>) => setProgress(before => ({ ...before, ...changes }))
  const { signal } = abort.current

  /** `step` is asked until there is no next one, or somebody stops it. */
  const steps = async (
    step: (from: string | undefined) => Promise<MatchingStep>,
    tell: (step: MatchingStep) => void,
    isEnough = () => false,
  ) => {
    let from: string | undefined
    do {
      const done = await step(from)
      if (signal.aborted) return
      tell(done)
      from = done.next
    } while (from !== undefined && !isEnough())
  }
  const attempt = async (work: () => Promise<void>, after: Progress['phase']) => {
    try {
      await work()
      if (!signal.aborted) change({ phase: after })
    } catch (error) {
      if (!signal.aborted) change({ phase: 'over', problem: (error as ApiFailure).message })
    }
  }
  useEffect(() => {
    let matching = 0
    const which = jobsQuery({ ...view, from: '' })
    const ask = (from: string | undefined) =>
      request<MatchingStep>(`jobs-matching?${which}${from === undefined ? '' : `&from=${inAddress(from)}`}`, {
        signal,
      })
    let atMs: number | undefined
    const counted = (step: MatchingStep) => {
      matching += step.matching
      atMs ??= step.atMs
      change({ matching, atMs })
    }
    void attempt(() => steps(ask, counted), 'asking')
    return () => abort.current.abort()
  }, [])
  const act = () => {
    const { state, queue, task, key, text } = view
    const isOfThen = state === 'dead' || (action === 'run' && state === 'retrying')
    const filters = { queue, task, key, text, ...(isOfThen ? { untilMs: progress.atMs } : {}) }
    const which = Object.fromEntries(Object.entries(filters).filter(([, value]) => value !== '' && value !== undefined))
    let [changed, skipped] = [0, 0]
    change({ phase: 'acting' })
    const ask = (from: string | undefined) =>
      post<MatchingStep>(`jobs-matching/${action}`, { state, ...which, ...(from === undefined ? {} : { from }) })
    const told = (step: MatchingStep) => {
      changed += step.changed
      skipped += step.skipped
      change({ changed, skipped })
    }
    // A job that puts itself off comes back where it was: it is not to be run again and again.
    const isEnough = () => action === 'run' && changed + skipped >= progress.matching
    void attempt(() => steps(ask, told, isEnough), 'over')
  }
  const stop = () => {
    abort.current.abort()
    change({ phase: 'over', problem: 'You stopped it; the remaining jobs did not change.' })
  }
  return { progress, act, stop }
}

const BulkDialog = ({ action, view, close }: { action: MatchingAction; view: JobsView; close(): void }) => {
  const { progress, act, stop } = useBulk(action, view)
  const { phase, matching, changed, skipped, problem } = progress
  const { ask, done, means } = names[action]
  const jobs = plural(matching, `${view.state} job`)
  const [text, setText] = useState('')
  const [isMissed, setMissed] = useState(false)
  const typed = typedOf(action, view, matching)
  const isReady = isTyped(typed, text)
  const go = (event: Event) => {
    event.preventDefault()
    if (phase !== 'asking') return
    setMissed(!isReady)
    if (isReady) act()
  }
  return (
    <Dialog title={`${ask(`all ${view.state} jobs`)}?`} onClose={close}>
      <form class="question" onSubmit={go}>
        <Which view={view} />
        <div role="status">
          {phase === 'counting' && <p>Counting: {count(matching)} so far.</p>}
          {phase === 'asking' && (
            <p>
              <strong>{jobs}</strong> {matching === 1 ? 'matches' : 'match'}. {means}
            </p>
          )}
          {phase === 'acting' && (
            <>
              <p>
                {count(changed + skipped)} of {count(matching)}
              </p>
              <progress max={Math.max(1, matching)} value={changed + skipped} aria-label="Progress" />
            </>
          )}
          {phase === 'over' && (
            <p>
              {plural(changed, 'job')} {changed === 1 ? 'is' : 'are'} {done}.
              {skipped > 0 && ` ${plural(skipped, 'job')} could not be ${done}: they are gone or changed.`}
            </p>
          )}
        </div>
        {phase === 'asking' && typed !== undefined && <TypeIt text={typed} value={text} onInput={setText} />}
        {phase === 'asking' && isMissed && !isReady && (
          <p class="problem wrap" role="alert">
            {whyUntyped(typed)}
          </p>
        )}
        {problem !== undefined && (
          <p class="problem wrap" role="alert">
            {printable(problem)}
          </p>
        )}
        <div class="dialog-actions">
          {phase === 'acting' && (
            <button type="button" onClick={stop}>
              Stop
            </button>
          )}
          {(phase === 'counting' || phase === 'asking') && (
            <button type="button" onClick={close}>
              Close
            </button>
          )}
          {phase === 'asking' && (
            <button type="submit" class="main" disabled={matching === 0} aria-disabled={!isReady}>
              {ask(jobs)}
            </button>
          )}
          {phase === 'over' && (
            <button type="button" class="main" onClick={close}>
              Close
            </button>
          )}
        </div>
      </form>
    </Dialog>
  )
}

/** What is to be typed before many jobs are lost: whose they are, or how many where that is not said. */
const typedOf = (action: MatchingAction, { queue, task }: JobsView, matching: number): string | undefined => {
  const isLoss = action === 'delete' || action === 'cancel'
  if (!isLoss || matching <= mostUntyped) return undefined
  return queue || task || String(matching)
}

const Which = ({ view: { queue, task, key, text } }: { view: JobsView }) => {
  const filters = [
    ['queue', queue],
    ['task', task],
    ['key', key],
    ['text', text],
  ].filter(([, value]) => value !== '')
  if (filters.length === 0) return <p>In all queues and tasks.</p>
  return (
    <ul class="chips">
      {filters.map(([name, value]) => (
        <li key={name} class="wrap">
          {name} <bdi>{printable(value)}</bdi>
        </li>
      ))}
    </ul>
  )
}
