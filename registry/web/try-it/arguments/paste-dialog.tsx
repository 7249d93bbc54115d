import { useId, useState } from 'preact/hooks'
import type { JobDetail } from '../../../job-contract.ts'
import { inAddress } from '../../address/in-address.ts'
import { withQuery } from '../../address/query.ts'
import { textOf } from '../../json/parse.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { request } from '../../session/request.ts'
import { printable } from '../../text/printable.ts'
import { type Pasted, readPasted } from './pasted.ts'

interface PasteDialogProps {
  task: string
  /** What it found, and what is to be told of it. */
  onFill(text: string, about: string): void
  onClose(): void
}

/** Takes the arguments out of whatever somebody has: a job's id, a line of a log, a command, a result. */
export const PasteDialog = ({ task, onFill, onClose }: PasteDialogProps) => {
  const own = useId()
  const [text, setText] = useState('')
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const fill = async () => {
    if (isBusy) return
    setBusy(true)
    setProblem('')
    try {
      const found = await argumentsOf(await readPasted(text), task)
      onFill(found.text, found.about)
      onClose()
    } catch (error) {
      setProblem((error as Error).message)
    }
    setBusy(false)
  }
  return (
    <Dialog title="Arguments from a text" onClose={onClose}>
      <label for={own}>
        A job's id or address, a line of a log, a curl or pshub command, a link, a result, or JSON
      </label>
      <textarea
        id={own}
        class="mono pasted"
        rows={6}
        spellcheck={false}
        autocapitalize="off"
        autocomplete="off"
        aria-describedby={`${own}-about ${own}-problem`}
        value={text}
        onInput={event => setText(event.currentTarget.value)}
      />
      <p id={`${own}-about`} class="quiet">
        Log lines hold no arguments: a log line fills in those of the job that it names, while that job is kept.
      </p>
      <p id={`${own}-problem`} class="text-problem" role="alert">
        {printable(problem)}
      </p>
      <div class="dialog-actions">
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="button" class="main" aria-disabled={isBusy} onClick={() => void fill()}>
          Fill in
        </button>
      </div>
    </Dialog>
  )
}

/** @throws Error with a message for people */
const argumentsOf = async (pasted: Pasted, task: string): Promise<{ text: string; about: string }> => {
  if (pasted.kind === 'nothing')
    throw new Error('The text has no arguments and no id of a job: JSON begins with { or [, an id has 22 characters.')
  if (pasted.kind === 'args') return { text: pasted.text, about: `${pasted.from} filled in.` }
  const { id, queue } = pasted
  const job = await request<JobDetail>(`jobs/${inAddress(id)}${withQuery({}, queue === undefined ? {} : { queue })}`)
  if (job.args === undefined) throw new Error(`The arguments of job ${id} are no longer kept: it is ${job.state}.`)
  const other = job.task === task ? '' : ` It is a job of ${job.task}.`
  return { text: textOf(job.args), about: `The arguments of job ${id} are filled in.${other}` }
}
