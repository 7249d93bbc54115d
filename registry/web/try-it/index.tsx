import '../looks/form/index.css'
import '../looks/try-it/index.css'
import { useEffect, useRef } from 'preact/hooks'
import type { TaskDetail } from '../../contract.ts'
import { session } from '../session/access.ts'
import { ArgumentsEditor } from './arguments/editor.tsx'
import { DoneLine } from './background/done-line.tsx'
import { JobFields } from './background/job-fields.tsx'
import { ScheduleFold } from './background/schedule-fold.tsx'
import { HistoryView } from './history/view.tsx'
import { Chunks } from './outcome/chunks.tsx'
import { OutcomeView } from './outcome/index.tsx'
import { isInView, LastRun, showOutcome } from './outcome/last-run.tsx'
import { CallFields } from './run/call-fields.tsx'
import { RunControls } from './run/controls.tsx'
import { gatewayUrl } from './run/gateway.ts'
import { Repeat } from './run/repeat.tsx'
import { CopyAs } from './snippets/copy-as.tsx'
import { TemplatesView } from './templates/view.tsx'
import { useTrial } from './use-trial.ts'

/** Runs a task with arguments from a form, and shows what became of it. */
export const TryIt = ({ detail }: { detail: TaskDetail }) => <TryOne key={detail.row.task} detail={detail} />

const TryOne = ({ detail }: { detail: TaskDetail }) => {
  const { task, timeoutMs: defaultMs, idempotent, keyed } = detail.row
  // A keyed task takes jobs alone.
  const canRun = keyed === undefined
  const trial = useTrial(detail)
  const { args, run, checks, notice, choices, background } = trial
  const isRunning = run.startedMs !== undefined
  const isHeard = run.heard.count > 0 || (isRunning && run.heard.progress !== undefined)
  const outcome = useRef<HTMLDivElement>(null)
  // A long form would hide what became of the run.
  useEffect(() => {
    if (run.last && !isInView(outcome)) showOutcome(outcome)
  }, [run.last])
  return (
    <section
      class="tryit"
      aria-label="Try it"
      onKeyDown={onRunKey(() => void (canRun ? trial.start(false) : trial.enqueue()))}
    >
      <div class="tryit-columns">
        <div class="tryit-in">
          <ArgumentsEditor
            detail={detail}
            args={args}
            tab={trial.tab}
            onTab={trial.choose}
            verdict={checks.verdict}
            findings={checks.shownFindings}
            onFindings={checks.setFindings}
            attention={checks.attention}
            onSendAnyway={canRun && run.startedMs === undefined ? () => void trial.start(true) : undefined}
            tell={notice.show}
          />
        </div>
        {canRun && (
          <div class="tryit-out" ref={outcome}>
            {isHeard && <Chunks heard={run.heard} isRunning={isRunning} />}
            {isRunning && isHeard ? null : run.last ? (
              <OutcomeView task={task} isIdempotent={idempotent} run={run.last} previous={run.previous} />
            ) : (
              <p class="no-outcome">Run the task to see its result and timing.</p>
            )}
          </div>
        )}
      </div>
      <div class="run-bar">
        {trial.danger.view}
        <RunControls
          canRun={canRun}
          timeout={trial.timeout}
          defaultMs={defaultMs}
          onTimeout={trial.setTimeout}
          startedMs={run.startedMs}
          onRun={() => void trial.start(false)}
          isEnqueuing={background.isBusy}
          onEnqueue={() => void trial.enqueue()}
          onCancel={run.cancel}
          onShare={() => void trial.share()}
        />
        {run.last && run.startedMs === undefined && <LastRun run={run.last} onShow={() => showOutcome(outcome)} />}
        {notice.line}
        <DoneLine done={background.done} />
      </div>
      {canRun && <CallFields task={task} queues={detail.row.queues} choices={choices} onChange={trial.setChoices} />}
      <JobFields choices={background.choices} keyed={keyed} onChange={background.setChoices} />
      <ScheduleFold
        times={background.times}
        onChange={background.setTimes}
        isBusy={background.isBusy}
        onSchedule={() => void trial.schedule()}
      />
      {canRun && (
        <>
          <CopyAs
            judged={detail}
            call={{
              task,
              args: args.value,
              ...choices,
              namespace: session.value?.namespace ?? 'pshub',
              url: gatewayUrl(task),
            }}
          />
          <Repeat
            task={task}
            args={args.value}
            choices={choices}
            isIdempotent={idempotent}
            danger={trial.danger}
            obstacle={trial.obstacle}
            tell={notice.show}
          />
          <TemplatesView task={task} templates={trial.templates} onUse={trial.useTemplate} />
          <HistoryView runs={trial.history.runs} onUse={trial.reuse} onClear={trial.history.clear} />
        </>
      )}
    </section>
  )
}

const onRunKey = (run: () => void) => (event: KeyboardEvent) => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
  event.preventDefault()
  run()
}
