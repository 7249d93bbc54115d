import '../looks/form.css'
import '../looks/tryit.css'
import { useState } from 'preact/hooks'
import type { Problem } from 'pshub'
import type { TaskDetail } from '../../contract.ts'
import { refusal, session } from '../session/access.ts'
import { keepArgsInAddress, keepTabInAddress, tabOfAddress } from './address.ts'
import { ArgumentsEditor, type EditorTab } from './arguments-editor.tsx'
import { copyText } from './clipboard.ts'
import { CopyAs } from './copy-as.tsx'
import { problemsOf } from './failure-view.tsx'
import type { FinishedRun } from './finished-run.ts'
import { gatewayUrl } from './gateway.ts'
import type { PastRun } from './history-store.ts'
import { HistoryView } from './history-view.tsx'
import { OutcomeView, outcomeSentence } from './outcome-view.tsx'
import { Repeat } from './repeat.tsx'
import { RunControls } from './run-controls.tsx'
import { timeoutOf } from './timeout-field.tsx'
import { useArguments } from './use-arguments.ts'
import { useHistory } from './use-history.ts'
import { useRun } from './use-run.ts'
import { standing, type Verdict } from './verdict.ts'

/** Runs a task with arguments from a form, and shows what became of it. */
export const TryIt = ({ detail }: { detail: TaskDetail }) => <TryOne key={detail.row.task} detail={detail} />

const TryOne = ({ detail }: { detail: TaskDetail }) => {
  const { task, timeoutMs: defaultMs, idempotent } = detail.row
  const notice = useNotice()
  const args = useArguments(detail, notice.show)
  const run = useRun(task)
  const history = useHistory(task, detail.args)
  const [tab, setTab] = useState<EditorTab>(() => (detail.unusable === undefined ? tabOfAddress() : 'json'))
  const [timeout, setTimeoutChoice] = useState({ text: '', unit: defaultMs % 1000 === 0 ? 's' : 'ms' } as const)
  const checks = useChecks(args.value)
  const checkedTimeout = timeoutOf(timeout)
  const timeoutMs = 'timeoutMs' in checkedTimeout ? checkedTimeout.timeoutMs : undefined

  const start = async (isSentAnyway: boolean) => {
    if (run.startedMs !== undefined) return
    const obstacle = obstacleTo(args, checkedTimeout)
    if (obstacle !== undefined) return notice.show(obstacle)
    if (!isSentAnyway && checks.isRefusing()) return checks.refuse()
    notice.whisper('Running.')
    checks.forget()
    const finished = await run.start(args.value, timeoutMs)
    if (!finished) return
    history.add(args.value, finished)
    checks.judge(args.value, finished)
    notice.whisper(outcomeSentence(finished))
  }
  const share = async () => {
    const { isKept, about } = await keepArgsInAddress(detail.args, args.value, tab)
    if (!isKept) return notice.show(about)
    const isCopied = await copyText(location.href)
    notice.show((isCopied ? 'Link copied.' : 'The address of this page now holds the arguments.') + about)
  }
  const reuse = ({ args: text, isWhole }: PastRun) => {
    args.setText(text ?? '')
    notice.show(isWhole ? 'The arguments are filled in.' : 'The arguments are filled in, without their secret fields.')
  }
  const choose = (to: EditorTab) => {
    setTab(to)
    keepTabInAddress(to)
  }
  return (
    <section class="tryit" aria-label="Try it" onKeyDown={onRunKey(() => void start(false))}>
      <div class="tryit-columns">
        <div class="tryit-in">
          <ArgumentsEditor
            detail={detail}
            args={args}
            tab={tab}
            onTab={choose}
            verdict={checks.verdict}
            findings={checks.shownFindings}
            onFindings={checks.setFindings}
            attention={checks.attention}
            onSendAnyway={run.startedMs === undefined ? () => void start(true) : undefined}
            tell={notice.show}
          />
          <RunControls
            timeout={timeout}
            defaultMs={defaultMs}
            onTimeout={choice => setTimeoutChoice(choice as typeof timeout)}
            startedMs={run.startedMs}
            onRun={() => void start(false)}
            onCancel={run.cancel}
            onShare={() => void share()}
          />
          {notice.line}
        </div>
        <div class="tryit-out">
          {run.last ? (
            <OutcomeView task={task} isIdempotent={idempotent} run={run.last} previous={run.previous} />
          ) : (
            <p class="no-outcome">The result will be here, with where its time went.</p>
          )}
        </div>
      </div>
      <CopyAs
        call={{
          task,
          args: args.value,
          timeoutMs,
          namespace: session.value?.namespace ?? 'pshub',
          url: gatewayUrl(task),
        }}
      />
      <Repeat
        task={task}
        args={args.value}
        timeoutMs={timeoutMs}
        isIdempotent={idempotent}
        obstacle={() => obstacleTo(args, checkedTimeout)}
        tell={notice.show}
      />
      <HistoryView runs={history.runs} onUse={reuse} onClear={history.clear} />
    </section>
  )
}

const onRunKey = (run: () => void) => (event: KeyboardEvent) => {
  if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey)) return
  event.preventDefault()
  run()
}

/** Why what is in the form cannot be sent at all. */
const obstacleTo = (
  { value, textProblem }: ReturnType<typeof useArguments>,
  timeout: ReturnType<typeof timeoutOf>,
): string | undefined => {
  const refused = refusal('run')
  if (refused !== undefined) return refused
  if (textProblem) return `The arguments cannot be sent: line ${textProblem.line}, column ${textProblem.column}.`
  if (value === undefined) return 'There are no arguments yet.'
  return 'wrong' in timeout ? `The timeout cannot be used. ${timeout.wrong}` : undefined
}

const noFindings = { findings: [], foundIn: undefined }

/** What the form and the worker found wrong, and when the list of it is to take the focus. */
const useChecks = (value: unknown) => {
  const [{ findings, foundIn }, setFound] = useState<{ findings: readonly Problem[]; foundIn: unknown }>(noFindings)
  const [isRefused, setRefused] = useState(false)
  const [verdict, setVerdict] = useState<Verdict>()
  const [attention, setAttention] = useState(0)
  const demand = () => setAttention(count => count + 1)
  return {
    setFindings: (found: readonly Problem[]) => setFound({ findings: found, foundIn: value }),
    /** The form checks a moment after each key: what it said of values that changed since does not count. */
    isRefusing: () => standing({ args: foundIn, problems: findings }, value).length > 0,
    shownFindings: isRefused ? findings : [],
    verdict: verdict ? standing(verdict, value) : [],
    attention,
    refuse() {
      setRefused(true)
      demand()
    },
    forget() {
      setRefused(false)
      setVerdict(undefined)
    },
    judge(args: unknown, { outcome }: FinishedRun) {
      const problems = outcome.ok || outcome.failure.code !== 'InvalidArgs' ? [] : problemsOf(outcome.failure.data)
      if (problems.length === 0) return
      setVerdict({ args, problems })
      demand()
    },
  }
}

/** One line that is read out when it changes; `whisper` is only for who does not see the page. */
const useNotice = () => {
  const [said, setSaid] = useState({ text: '', isSeen: false, count: 0 })
  const say = (isSeen: boolean) => (text: string) => setSaid(({ count }) => ({ text, isSeen, count: count + 1 }))
  return {
    show: say(true),
    whisper: say(false),
    line: (
      <p role="status" class={said.isSeen ? 'notice' : 'visually-hidden'}>
        <span key={said.count}>{said.text}</span>
      </p>
    ),
  }
}
