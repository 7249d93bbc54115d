import { signal } from '@preact/signals'
import { useEffect, useRef } from 'preact/hooks'
import type { QueryState } from '../address/use-query.ts'
import { printable } from '../text/printable.ts'

/** Somebody goes to a page for its search: it takes the focus as soon as it is drawn. */
export const isSearchWanted = signal(false)

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

/** A filter by a name: those that are known, and the one of the address, which may be gone. */
export const NameField = ({
  label,
  name,
  names,
  value,
  state,
}: {
  label: string
  /** In the address. */
  name: string
  names: Iterable<string>
  value: string
  state: QueryState
}) => {
  const known = new Set(names)
  if (value !== '') known.add(value)
  const options = [...known].sort().map(each => ({ value: each, text: printable(each) }))
  return (
    <ChoiceField
      label={label}
      name={name}
      value={value}
      state={state}
      options={[{ value: '', text: 'All' }, ...options]}
    />
  )
}

/** The filter by queue, of those that rows have. */
export const QueueField = ({
  rows,
  value,
  state,
}: {
  rows: Iterable<{ queue: string }>
  value: string
  state: QueryState
}) => <NameField label="Queue" name="queue" names={[...rows].map(({ queue }) => queue)} value={value} state={state} />
