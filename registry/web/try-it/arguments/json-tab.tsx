import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import type { TextProblem } from '../../json/parse.ts'
import { OfferList, optionId } from '../completion/offer-list.tsx'
import { type Offered, useCompletion } from '../completion/use-completion.ts'

interface JsonTabProps {
  text: string
  problem: TextProblem | undefined
  /** Offers what it allows while somebody types; undefined where it is not used. */
  schema: unknown
  /** Where the cursor is to go: a place in the text, and a number that changes with each wish. */
  goTo: { at: number; wish: number }
  onText(text: string): void
}

/** The arguments as text. Tab leaves it, as keyboards expect; indenting is what Tidy is for. */
export const JsonTab = ({ text, problem, schema, goTo, onText }: JsonTabProps) => {
  const own = useId()
  const field = useRef<HTMLTextAreaElement>(null)
  const { offered, take, ...completion } = useCompletion(field, schema)
  // Before the page is painted: what somebody types meanwhile would be cut in two by a cursor that jumps later.
  useLayoutEffect(() => {
    if (goTo.wish === 0) return
    field.current?.focus()
    field.current?.setSelectionRange(goTo.at, goTo.at)
  }, [goTo.wish])
  const lines = Math.min(30, Math.max(8, text.split('\n').length + 1))
  const list = `${own}-offers`
  return (
    <div class="json-tab">
      <div class="json-field">
        <textarea
          ref={field}
          class="mono"
          aria-label="Arguments as JSON"
          aria-invalid={problem !== undefined}
          aria-describedby={`${own}-problem ${own}-keys`}
          aria-autocomplete="list"
          aria-controls={offered && list}
          aria-activedescendant={offered && offered.chosen >= 0 ? optionId(list, offered.chosen) : undefined}
          spellcheck={false}
          autocapitalize="off"
          autocomplete="off"
          rows={lines}
          value={text}
          onInput={event => {
            onText(event.currentTarget.value)
            completion.onInput(event)
          }}
          onKeyDown={completion.onKeyDown}
          onBlur={completion.close}
          onMouseDown={completion.close}
          onScroll={completion.close}
        />
        {offered && <OfferList id={list} offered={offered} onTake={take} />}
      </div>
      <p class="visually-hidden" role="status">
        {offered && spoken(offered)}
      </p>
      <p id={`${own}-problem`} class="text-problem" aria-live="polite">
        {problem && `Line ${problem.line}, column ${problem.column}: ${problem.message}`}
      </p>
      {schema !== undefined && (
        <p id={`${own}-keys`} class="quiet json-keys">
          Ctrl-Space shows suggestions, ↓ and Enter choose one, Esc closes.
        </p>
      )}
    </div>
  )
}

const spoken = ({ offers }: Offered): string =>
  offers.length === 1 ? 'One suggestion.' : `${offers.length} suggestions.`
