import { useId } from 'preact/hooks'
import { printable } from '../text/printable.ts'

/** So many may go after a mere question; before more of them go somebody is to type what they are of. */
export const mostUntyped = 20

/** Has something typed before the worst can be done: whoever only clicks, or presses Enter, does no harm. */
export const TypeIt = ({ text, value, onInput }: { text: string; value: string; onInput(value: string): void }) => {
  const own = useId()
  return (
    <p class="type-it">
      <label for={own}>
        To confirm, type <strong class="mono wrap">{printable(text)}</strong>
      </label>
      <input
        id={own}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        value={value}
        onInput={event => onInput(event.currentTarget.value)}
      />
    </p>
  )
}

/** Whether it was typed, as it is or as it is shown; spaces around it do not count, as they come with what is pasted. */
export const isTyped = (text: string | undefined, value: string): boolean =>
  text === undefined || [text.trim(), printable(text).trim()].includes(value.trim())

/** Why nothing happens yet. */
export const whyUntyped = (text: string | undefined): string => `Type ${printable(text ?? '')} first.`
