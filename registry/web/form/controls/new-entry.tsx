import { useState } from 'preact/hooks'
import { initialOf } from '../model/initial.ts'
import { has, toPointer } from '../model/json.ts'
import type { ObjectView } from '../model/object-view.ts'
import { useActions } from '../shared/context.ts'
import type { ControlProps } from '../shared/control-props.ts'
import { quoted } from '../shared/focus.ts'
import { keyProblem } from './key-problem.ts'

type Props = Pick<ControlProps, 'value' | 'path' | 'pointer' | 'label'> & { object: ObjectView }

/** Takes the key of an entry to add; of an object with fields of its own, only once somebody asks for it. */
export const NewEntry = ({ object, value, path, pointer, label }: Props) => {
  const { set, refs, focusNext, id } = useActions()
  const [name, setName] = useState('')
  const [isOpen, setOpen] = useState(object.isMap)
  const problem = name === '' ? undefined : keyProblem(name, key => has(value, key))
  // Asked while it is typed, so that it is known which patterns the key matches when it is added.
  if (name !== '') object.entrySchema(name)
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
  if (!isOpen) return <MoreKeys pointer={pointer} label={label} onOpen={() => setOpen(true)} />
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

const MoreKeys = ({ pointer, label, onOpen }: { pointer: string; label: string; onOpen(): void }) => {
  const { focusNext } = useActions()
  return (
    <button
      type="button"
      class="more-keys"
      data-more-keys={pointer}
      onClick={() => {
        onOpen()
        focusNext(`[data-new-key=${quoted(pointer)}]`)
      }}
    >
      + other field<span class="unseen"> of {label}</span>
    </button>
  )
}
