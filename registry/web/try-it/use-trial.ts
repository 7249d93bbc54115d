import { useState } from 'preact/hooks'
import type { Template } from 'pshub'
import type { TaskDetail } from '../../contract.ts'
import { queues, tasks } from '../live/shown.ts'
import { pausedSinceMs } from '../rows/queue-state.ts'
import { keepArgsInAddress, keepTabInAddress, tabOfAddress } from './arguments/address.ts'
import type { EditorTab } from './arguments/editor.tsx'
import { useArguments } from './arguments/state.ts'
import { useBackground } from './background/state.ts'
import { useHistory } from './history/state.ts'
import type { PastRun } from './history/store.ts'
import { obstacleTo } from './obstacle.ts'
import { outcomeSentence } from './outcome/index.tsx'
import { copyText } from './parts/clipboard.ts'
import { type CallChoices, noCallChoices, wrongChoices } from './run/call-choices.ts'
import { useRun } from './run/state.ts'
import { type TimeoutChoice, timeoutOf } from './run/timeout-field.tsx'
import { useDanger } from './run/use-danger.tsx'
import { useTemplates } from './templates/state.ts'
import { useChecks } from './use-checks.ts'
import { useNotice } from './use-notice.tsx'

/** What somebody does with one task: arguments, runs of them, and what is told of both. */
export const useTrial = (detail: TaskDetail) => {
  const { task, timeoutMs: defaultMs, keyed, dangerous } = detail.row
  const danger = useDanger(task, dangerous)
  const notice = useNotice()
  const args = useArguments(detail, notice.show)
  const run = useRun(task)
  const history = useHistory(task, detail)
  const templates = useTemplates(detail, args)
  const background = useBackground(task, keyed === 'merged')
  const [tab, setTab] = useState<EditorTab>(() => (detail.unusable === undefined ? tabOfAddress() : 'json'))
  const [timeout, setTimeoutChoice] = useState({ text: '', unit: defaultMs % 1000 === 0 ? 's' : 'ms' } as const)
  const checks = useChecks(args.value)
  const checkedTimeout = timeoutOf(timeout)
  const [chosen, setChosen] = useState(noCallChoices)
  const timeoutMs = 'timeoutMs' in checkedTimeout ? checkedTimeout.timeoutMs : undefined
  const choices: CallChoices = { ...chosen, timeoutMs }

  const obstacle = () => obstacleTo(args, checkedTimeout, pausedQueueOf(task, chosen.queue)) ?? wrongChoices(choices)
  const start = async (isSentAnyway: boolean) => {
    if (run.startedMs !== undefined) return
    const wrong = obstacle()
    if (wrong !== undefined) return notice.show(wrong)
    if (!isSentAnyway && checks.isRefusing()) return checks.refuse()
    danger.ask('Run it', () => void runNow())
  }
  const runNow = async () => {
    notice.whisper('Running.')
    checks.forget()
    const finished = await run.start(args.value, choices)
    if (!finished) return
    history.add(args.value, finished)
    checks.judge(args.value, finished)
    notice.whisper(outcomeSentence(finished))
  }
  /** With what is in the form, if that can be sent at all. */
  const inBackground = async (what: string, send: (args: unknown) => Promise<void>) => {
    const wrong = obstacleTo(args, { timeoutMs: undefined })
    if (wrong !== undefined) return background.refuse(wrong)
    if (checks.isRefusing()) return checks.refuse()
    danger.ask(what, () => {
      checks.forget()
      void send(args.value)
    })
  }
  const share = async () => {
    const { isKept, about } = await keepArgsInAddress(detail, args.value, tab)
    if (!isKept) return notice.show(about)
    const isCopied = await copyText(location.href)
    notice.show((isCopied ? 'Link copied.' : 'The address of this page now has the arguments.') + about)
  }
  const reuse = ({ args: text, isWhole }: PastRun) => {
    args.setText(text ?? '')
    notice.show(isWhole ? 'The arguments are filled in.' : 'The arguments are filled in, without their secret fields.')
  }
  const useTemplate = ({ name, args: value, isWhole }: Template) => {
    args.setValue(value)
    notice.show(`The arguments of ${name} are filled in${isWhole ? '' : ', without their secret fields'}.`)
  }
  const choose = (to: EditorTab) => {
    setTab(to)
    keepTabInAddress(to)
  }
  return {
    args,
    run,
    history,
    checks,
    notice,
    tab,
    choose,
    timeout,
    setTimeout: (choice: TimeoutChoice) => setTimeoutChoice(choice as typeof timeout),
    choices,
    setChoices: (changes: Partial<CallChoices>) => setChosen(before => ({ ...before, ...changes })),
    obstacle,
    danger,
    start,
    background,
    enqueue: () => inBackground('Enqueue it', background.enqueue),
    schedule: () => inBackground('Schedule it', background.schedule),
    share,
    reuse,
    templates,
    useTemplate,
  }
}

/** The queue that a call of it would wait in, where that is paused. */
const pausedQueueOf = (task: string, chosen: string | undefined): string | undefined => {
  const own = tasks.value?.get(task)?.queues ?? []
  const target = own.find(({ queue }) => queue === chosen) ?? own.find(({ workers }) => workers > 0) ?? own[0]
  const row = target && queues.value?.get(target.queue)
  return row && pausedSinceMs(row) !== undefined ? row.queue : undefined
}
