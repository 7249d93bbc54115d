import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { Dialog } from '../../parts/dialog.tsx'
import { dangerText } from '../../rows/danger.ts'
import { printable } from '../../text/printable.ts'

interface Asked {
  /** What is about to be done, as in: Run it. */
  what: string
  go(): void
}

export interface Danger {
  /** Does it at once where the task is not dangerous, else once its name was typed. */
  ask(what: string, go: () => void): void
  isDangerous: boolean
  /** Why it is, and the question while it is asked. */
  view: ComponentChildren
}

/** What stands between somebody and a run of a task that is declared dangerous. */
export const useDanger = (task: string, danger: string | true | undefined): Danger => {
  const [asked, setAsked] = useState<Asked>()
  const ask = (what: string, go: () => void) => (danger === undefined ? go() : setAsked({ what, go }))
  return {
    ask,
    isDangerous: danger !== undefined,
    view: danger !== undefined && (
      <>
        <p class="danger-note">
          <strong>Dangerous.</strong> {printable(dangerText(danger))}
        </p>
        {asked && <Question task={task} danger={danger} asked={asked} onClose={() => setAsked(undefined)} />}
      </>
    ),
  }
}

interface QuestionProps {
  task: string
  danger: string | true
  asked: Asked
  onClose(): void
}

const Question = ({ task, danger, asked, onClose }: QuestionProps) => {
  const own = useId()
  const [typed, setTyped] = useState('')
  const isMeant = typed.trim() === task
  const go = () => {
    if (!isMeant) return
    onClose()
    asked.go()
  }
  return (
    <Dialog title={`${asked.what}: ${printable(task)} is dangerous`} onClose={onClose}>
      <p>{printable(dangerText(danger))}</p>
      <form
        onSubmit={event => {
          event.preventDefault()
          go()
        }}
      >
        <label for={own}>
          Type <code>{printable(task)}</code>
        </label>
        <input
          id={own}
          class="mono danger-name"
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={typed}
          onInput={event => setTyped(event.currentTarget.value)}
        />
        <div class="dialog-actions">
          <button type="button" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" class="main" aria-disabled={!isMeant}>
            {asked.what}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
