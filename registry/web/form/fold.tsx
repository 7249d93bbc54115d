import { useMemo } from 'preact/hooks'
import { previewOf } from './model/preview.ts'
import { useActions, useForm } from './shared/context.ts'
import type { FieldProps } from './shared/field-props.ts'

interface ToggleProps {
  id: string
  pointer: string
  label: string
  isFolded: boolean
  onToggle(): void
}

/** Folds a group away, and brings it back. */
export const FoldToggle = ({ id, pointer, label, isFolded, onToggle }: ToggleProps) => (
  <button
    type="button"
    class="tool fold-toggle"
    data-fold={pointer}
    aria-expanded={!isFolded}
    aria-label={`Contents of ${label}`}
    aria-describedby={isFolded ? `${id}-folded` : undefined}
    onClick={onToggle}
  >
    {isFolded ? '▸' : '▾'}
  </button>
)

type FoldedProps = Pick<FieldProps, 'schema' | 'value' | 'path'> & { id: string; pointer: string }

/** What is told of a group while it is folded. */
export const Folded = ({ id, pointer, schema, value, path }: FoldedProps) => {
  const { refs } = useActions()
  const { messages } = useForm()
  const preview = useMemo(() => previewOf(schema, value, path, refs), [schema, value])
  const wrong = [...messages.keys()].filter(one => one.startsWith(`${pointer}/`)).length
  return (
    <span class="folded" id={`${id}-folded`}>
      {preview}
      {wrong > 0 && <strong class="wrong">{`${wrong} ${wrong === 1 ? 'problem' : 'problems'} inside`}</strong>}
    </span>
  )
}
