import { useEffect, useRef, useState } from 'preact/hooks'
import { initialOf } from '../model/initial.ts'
import { has, isObject, own, toPointer } from '../model/json.ts'
import type { ObjectView } from '../model/object-view.ts'
import { useActions } from '../shared/context.ts'
import type { ControlProps } from '../shared/control-props.ts'
import { quoted } from '../shared/focus.ts'

type Props = ControlProps & { object: ObjectView }

const batch = 200

/** Entries under keys that people choose: rename, remove, add. */
export const MapEntries = (props: Props) => {
  const { object, value, path, pointer, label, put, Field } = props
  const { focusNext } = useActions()
  const [most, setMost] = useState(batch)
  const names = useNames(object.extra)
  const entries = isObject(value) ? Object.entries(value) : []
  const rename = (from: string, to: string): void => {
    names.rename(from, to)
    put(Object.fromEntries(entries.map(([key, inner]) => [key === from ? to : key, inner])))
    focusNext(`[data-key=${quoted(toPointer([...path, to]))}]`)
  }
  const remove = (key: string): void => {
    const at = object.extra.indexOf(key)
    const next = object.extra[at + 1] ?? object.extra[at - 1]
    put(Object.fromEntries(entries.filter(([name]) => name !== key)))
    focusNext(
      next === undefined ? `[data-new-key=${quoted(pointer)}]` : `[data-key=${quoted(toPointer([...path, next]))}]`,
    )
  }
  return (
    <>
      {object.extra.slice(0, most).map(key => (
        <Field
          key={names.idOf(key)}
          schema={object.entrySchema(key)}
          value={own(value, key)}
          path={[...path, key]}
          label={key}
          required
          kept
          heading={<KeyInput name={key} path={[...path, key]} taken={name => has(value, name)} onRename={rename} />}
          tools={
            <button type="button" class="tool" aria-label={`Remove ${key}`} title="Remove" onClick={() => remove(key)}>
              ×
            </button>
          }
        />
      ))}
      {object.extra.length > most && (
        <button type="button" class="small" onClick={() => setMost(most + batch)}>
          Show more of {object.extra.length} entries
        </button>
      )}
      {object.open && <NewEntry {...{ object, value, path, pointer, label }} />}
    </>
  )
}

/** An id for each key that a new name does not change, so that an entry keeps its state and focus. */
const useNames = (keys: readonly string[]) => {
  const ids = useRef(new Map<string, number>())
  const count = useRef(0)
  for (const key of keys) if (!ids.current.has(key)) ids.current.set(key, ++count.current)
  return {
    idOf: (key: string) => ids.current.get(key)!,
    rename: (from: string, to: string) => {
      ids.current.set(to, ids.current.get(from)!)
      ids.current.delete(from)
    },
  }
}

const problemOf = (name: string, taken: (name: string) => boolean): string | undefined => {
  if (name === '') return 'needs a name'
  if (name === '__proto__') return 'a key named __proto__ is not allowed'
  return taken(name) ? `${name} is there already` : undefined
}

interface KeyProps {
  name: string
  path: (string | number)[]
  taken(name: string): boolean
  onRename(from: string, to: string): void
}

/** The new name counts when the field is left: on the way there it may pass by other keys. */
const KeyInput = ({ name, path, taken, onRename }: KeyProps) => {
  const { setDraft, id } = useActions()
  const [text, setText] = useState(name)
  useEffect(() => setText(name), [name])
  const pointer = toPointer(path)
  const problem = text === name ? undefined : problemOf(text, taken)
  useEffect(() => {
    setDraft(`${pointer}#key`, problem)
    return () => setDraft(`${pointer}#key`, undefined)
  }, [pointer, problem])
  const commit = (): void => {
    if (text !== name && problem === undefined) onRename(name, text)
  }
  return (
    <span class="key">
      <input
        type="text"
        data-key={pointer}
        aria-label={`Key of ${name}`}
        aria-invalid={problem ? 'true' : undefined}
        aria-describedby={problem ? `${id}${pointer}-key`.replaceAll(/\s/g, '_') : undefined}
        value={text}
        onInput={event => setText(event.currentTarget.value)}
        onBlur={commit}
        onKeyDown={event => {
          if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey) commit()
          if (event.key === 'Escape') setText(name)
        }}
      />
      {problem && (
        <span class="wrong" id={`${id}${pointer}-key`.replaceAll(/\s/g, '_')}>
          {problem}
        </span>
      )}
    </span>
  )
}

const NewEntry = ({
  object,
  value,
  path,
  pointer,
  label,
}: Pick<Props, 'object' | 'value' | 'path' | 'pointer' | 'label'>) => {
  const { set, refs, focusNext, id } = useActions()
  const [name, setName] = useState('')
  const [isOpen, setOpen] = useState(object.isMap)
  const problem = name === '' ? undefined : problemOf(name, key => has(value, key))
  const wrongId = `${id}${pointer}-new`.replaceAll(/\s/g, '_')
  const add = (): void => {
    if (name === '' || problem !== undefined) return
    const inner = [...path, name]
    set(inner, initialOf(object.entrySchema(name), refs), true)
    setName('')
    const at = quoted(toPointer(inner))
    focusNext(`[data-pointer=${at}], [data-branch=${at}], [data-node=${at}]`)
  }
  const what = object.isMap ? 'entry' : 'other field'
  if (!isOpen)
    return (
      <button
        type="button"
        class="more-keys"
        data-more-keys={pointer}
        onClick={() => {
          setOpen(true)
          focusNext(`[data-new-key=${quoted(pointer)}]`)
        }}
      >
        + other field<span class="unseen"> of {label}</span>
      </button>
    )
  return (
    <div class="new-entry">
      <input
        type="text"
        data-new-key={pointer}
        aria-label={`Key of a new ${what} of ${label}`}
        aria-invalid={problem ? 'true' : undefined}
        aria-describedby={problem ? wrongId : undefined}
        placeholder={object.isMap ? 'new key' : 'other field'}
        value={name}
        onInput={event => setName(event.currentTarget.value)}
        onKeyDown={event => {
          if (event.key !== 'Enter' || event.ctrlKey || event.metaKey) return
          event.preventDefault()
          add()
        }}
      />
      <button
        type="button"
        class="small"
        data-add-key={pointer}
        aria-label={`Add the ${what} to ${label}`}
        onClick={add}
      >
        Add
      </button>
      {problem && (
        <span class="wrong" id={wrongId}>
          {problem}
        </span>
      )}
    </div>
  )
}
