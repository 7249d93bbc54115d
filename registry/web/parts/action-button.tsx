import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { refusal } from '../session/access.ts'
import type { ApiFailure } from '../session/request.ts'
import { printable } from '../text/printable.ts'
import { Dialog } from './dialog.tsx'
import { isTyped, TypeIt, whyUntyped } from './typed.tsx'

interface ActionButtonProps {
  /** On the button. */
  name: string
  /** What it is done to, for who does not see where the button is. */
  of: string
  /** The question, without its mark, and what it means. */
  question: string
  children: ComponentChildren
  /** On the button that does it. */
  verb: string
  /** What has to be typed before, of what does the most harm. */
  typed?: string | undefined
  act(): Promise<unknown>
}

/** Does something for which one has to be an admin, after a question; says why where it may not be used. */
export const ActionButton = (props: ActionButtonProps) => {
  const { name, of } = props
  // What is asked stays what it was, whatever somebody else does meanwhile.
  const [asked, setAsked] = useState<ActionButtonProps>()
  const reason = refusal('admin')
  return (
    <>
      <button
        type="button"
        class="small"
        aria-disabled={reason !== undefined}
        title={reason}
        aria-label={`${name} ${printable(of)}${reason ? `: ${reason}` : ''}`}
        onClick={() => reason === undefined && setAsked(props)}
      >
        {name}
      </button>
      {asked && <Question {...asked} close={() => setAsked(undefined)} />}
    </>
  )
}

const Question = ({ question, verb, typed, act, close, children }: ActionButtonProps & { close(): void }) => {
  const [problem, setProblem] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const [text, setText] = useState('')
  const isReady = isTyped(typed, text)
  const go = async (event: Event) => {
    event.preventDefault()
    if (!isReady) return setProblem(whyUntyped(typed))
    setBusy(true)
    setProblem(undefined)
    try {
      await act()
      close()
    } catch (error) {
      setProblem((error as ApiFailure).message)
      setBusy(false)
    }
  }
  return (
    <Dialog title={`${printable(question)}?`} onClose={close}>
      <form class="question" onSubmit={go}>
        <p>{children}</p>
        {typed !== undefined && <TypeIt text={typed} value={text} onInput={setText} />}
        {problem !== undefined && (
          <p class="problem wrap" role="alert">
            {printable(problem)}
          </p>
        )}
        <div class="dialog-actions">
          <button type="button" onClick={close}>
            Cancel
          </button>
          <button type="submit" class="main" disabled={isBusy} aria-disabled={!isReady}>
            {verb}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
