import { useEffect, useId, useRef } from 'preact/hooks'
import type { TextProblem } from '../../json/parse.ts'

interface JsonTabProps {
  text: string
  problem: TextProblem | undefined
  /** Where the cursor is to go: a place in the text, and a number that changes with each wish. */
  goTo: { at: number; wish: number }
  onText(text: string): void
}

/** The arguments as text. Tab leaves it, as keyboards expect; indenting is what Tidy is for. */
export const JsonTab = ({ text, problem, goTo, onText }: JsonTabProps) => {
  const own = useId()
  const field = useRef<HTMLTextAreaElement>(null)
  useEffect(() => {
    if (goTo.wish === 0) return
    field.current?.focus()
    field.current?.setSelectionRange(goTo.at, goTo.at)
  }, [goTo.wish])
  const lines = Math.min(30, Math.max(8, text.split('\n').length + 1))
  return (
    <div class="json-tab">
      <textarea
        ref={field}
        class="mono"
        aria-label="Arguments as JSON"
        aria-invalid={problem !== undefined}
        aria-describedby={`${own}-problem`}
        spellcheck={false}
        autocapitalize="off"
        autocomplete="off"
        rows={lines}
        value={text}
        onInput={event => onText(event.currentTarget.value)}
      />
      <p id={`${own}-problem`} class="text-problem" aria-live="polite">
        {problem && `Line ${problem.line}, column ${problem.column}: ${problem.message}`}
      </p>
    </div>
  )
}
