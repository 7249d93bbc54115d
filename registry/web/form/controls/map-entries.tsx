import { useRef } from 'preact/hooks'
import { has, isObject, own, toPointer } from '../model/json.ts'
import type { ObjectView } from '../model/object-view.ts'
import { batches } from '../model/parts.ts'
import { useActions } from '../shared/context.ts'
import type { ControlProps } from '../shared/control-props.ts'
import { quoted } from '../shared/focus.ts'
import { KeyInput } from './key-input.tsx'
import { NewEntry } from './new-entry.tsx'
import { useBatch } from './use-batch.ts'

type Props = ControlProps & { object: ObjectView }

/** Entries under keys that people choose: rename, remove, add. */
export const MapEntries = (props: Props) => {
  const { object, value, path, pointer, label, put, Field } = props
  const { focusNext } = useActions()
  const { extra, fields } = object
  const { most, more } = useBatch(pointer, batches.fields, step => extra.indexOf(step), fields.length)
  const names = useNames(extra)
  const entries = isObject(value) ? Object.entries(value) : []
  const rename = (from: string, to: string): void => {
    names.rename(from, to)
    put(Object.fromEntries(entries.map(([key, inner]) => [key === from ? to : key, inner])))
    focusNext(`[data-key=${quoted(toPointer([...path, to]))}]`)
  }
  const remove = (key: string): void => {
    const at = extra.indexOf(key)
    const next = extra[at + 1] ?? extra[at - 1]
    put(Object.fromEntries(entries.filter(([name]) => name !== key)))
    focusNext(
      next === undefined ? `[data-new-key=${quoted(pointer)}]` : `[data-key=${quoted(toPointer([...path, next]))}]`,
    )
  }
  return (
    <>
      {extra.slice(0, most).map(key => (
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
      {extra.length > most && (
        <button type="button" class="small" onClick={more}>
          Show more of {extra.length} entries
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
