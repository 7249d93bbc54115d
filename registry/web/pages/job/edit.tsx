import '../../looks/form/index.css'
import { useEffect, useState } from 'preact/hooks'
import type { TaskDetail } from '../../../contract.ts'
import type { JobDetail } from '../../../job-contract.ts'
import { jsonText } from '../../json/exact.ts'
import { parseJson } from '../../json/parse.ts'
import { useTaskDetail } from '../../live/task-detail.ts'
import { Loading } from '../../parts/empty.tsx'
import { argsTextOf } from '../../rows/jobs.ts'
import { printable } from '../../text/printable.ts'
import { ArgumentsEditor, type EditorTab } from '../../try-it/arguments/editor.tsx'
import { useArguments } from '../../try-it/arguments/state.ts'
import { useChecks } from '../../try-it/use-checks.ts'
import { useNotice } from '../../try-it/use-notice.tsx'
import { EditText } from './edit-text.tsx'

interface EditProps {
  job: JobDetail
  retry(argsText: string): Promise<void>
}

/** The arguments of a dead job in the form of its task, to be tried again with. */
export const EditAndRetry = ({ job, retry }: EditProps) => {
  const [text] = useState(() => argsTextOf(job))
  // Some fractions have more digits than a number keeps.
  if (!parseJson(text).ok) return <EditText text={text} retry={retry} />
  return <EditInForm job={job} retry={retry} />
}

const EditInForm = ({ job, retry }: EditProps) => {
  const state = useTaskDetail(job.task)
  if (state.kind === 'reading') return <Loading />
  return <Editor detail={state.kind === 'there' ? state.detail : undeclared(job)} job={job} retry={retry} />
}

/** Of a task that nobody declares any more there is no form. */
const undeclared = ({ task }: JobDetail): TaskDetail =>
  ({ row: { task }, args: undefined, unusable: 'no worker declares this task' }) as TaskDetail

const Editor = ({ detail, job, retry }: EditProps & { detail: TaskDetail }) => {
  const notice = useNotice()
  const args = useArguments(detail, notice.show)
  const checks = useChecks(args.value)
  const [tab, setTab] = useState<EditorTab>(detail.unusable === undefined ? 'form' : 'json')
  const [isBusy, setBusy] = useState(false)
  useEffect(() => args.setValue(job.args), [])
  const send = async (isSentAnyway: boolean) => {
    if (args.textProblem) return notice.show('The arguments cannot be sent: they are not JSON.')
    if (args.value === undefined) return notice.show('There are no arguments yet.')
    // What stands for a hidden value need not fit: the service puts that in its place, and the worker has the last word.
    if (!isSentAnyway && !job.hidden?.args && checks.isRefusing()) return checks.refuse()
    setBusy(true)
    try {
      await retry(jsonText(args.value))
    } catch (error) {
      notice.show(printable((error as Error).message))
    }
    setBusy(false)
  }
  return (
    <section class="part tryit" aria-label="Edit the arguments">
      {job.hidden?.args && (
        <p class="note">
          Hidden values do not change if you leave <code>{'<secret>'}</code>; write something else to replace it.
        </p>
      )}
      <ArgumentsEditor
        detail={detail}
        args={args}
        tab={tab}
        onTab={setTab}
        verdict={[]}
        findings={checks.shownFindings}
        onFindings={checks.setFindings}
        attention={checks.attention}
        onSendAnyway={isBusy ? undefined : () => void send(true)}
        tell={notice.show}
      />
      <div class="run-controls">
        <button type="button" class="main" disabled={isBusy} onClick={() => void send(false)}>
          Retry with these arguments
        </button>
      </div>
      {notice.line}
    </section>
  )
}
