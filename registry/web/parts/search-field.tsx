import { useEffect, useRef } from 'preact/hooks'
import { isSearchWanted } from '../keyboard.ts'
import type { QueryState } from './use-query.ts'

/** The search of a page; `/` goes there. */
export const SearchField = ({ name, state }: { name: string; state: QueryState }) => {
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (!isSearchWanted.peek()) return
    isSearchWanted.value = false
    field.current?.focus()
  }, [])
  return (
    <label class="field search">
      <span class="visually-hidden">{name}</span>
      <input
        ref={field}
        type="search"
        placeholder={`${name}  ( / )`}
        value={state.query.q ?? ''}
        autocomplete="off"
        spellcheck={false}
        onInput={event => state.change({ q: event.currentTarget.value, page: undefined }, true)}
      />
    </label>
  )
}

/** A filter or another choice of a page, as a list to choose from. */
export const ChoiceField = ({
  label,
  name,
  options,
  value,
  state,
}: {
  label: string
  /** In the address. */
  name: string
  /** The first one is not written into the address. */
  options: readonly { value: string; text: string }[]
  value: string
  state: QueryState
}) => (
  <label class="field">
    <span>{label}</span>
    <select
      value={value}
      onChange={event => {
        const chosen = event.currentTarget.value
        state.change({ [name]: chosen === options[0]?.value ? undefined : chosen, page: undefined })
      }}
    >
      {options.map(option => (
        <option key={option.value} value={option.value}>
          {option.text}
        </option>
      ))}
    </select>
  </label>
)
