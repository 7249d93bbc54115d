import { useEffect, useLayoutEffect, useState } from 'preact/hooks'
import { toPointer } from '../model/json.ts'
import { useActions } from '../shared/context.ts'
import { keyProblem } from './key-problem.ts'

interface KeyProps {
  name: string
  path: (string | number)[]
  taken(name: string): boolean
  onRename(from: string, to: string): void
}

/** The new name counts when the field is left: on the way there it may pass by other keys. */
export const KeyInput = ({ name, path, taken, onRename }: KeyProps) => {
  const { setDraft, id } = useActions()
  const [text, setText] = useState(name)
  // Before the page is painted: later it would take away what somebody types at once.
  useLayoutEffect(() => setText(name), [name])
  const pointer = toPointer(path)
  const problem = text === name ? undefined : keyProblem(text, taken)
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
