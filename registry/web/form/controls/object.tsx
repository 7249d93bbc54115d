import { useMemo } from 'preact/hooks'
import { own } from '../model/json.ts'
import { objectViewOf } from '../model/object-view.ts'
import { batches } from '../model/parts.ts'
import { useActions } from '../shared/context.ts'
import type { ControlProps } from '../shared/control-props.ts'
import { MapEntries } from './map-entries.tsx'
import { useBatch } from './use-batch.ts'

/** An object: its declared fields, then the entries under further keys. */
export const ObjectFields = (props: ControlProps) => {
  const { view, value, path, pointer, label, Field } = props
  const { refs } = useActions()
  const object = useMemo(() => objectViewOf(view.flat, value, refs), [view, value, refs])
  const { fields } = object
  const { most, more, next } = useBatch(pointer, batches.fields, step => fields.findIndex(one => one.name === step))
  return (
    <div class="nested">
      {fields.slice(0, most).map(({ name, schema, required }) => (
        <Field
          key={name}
          schema={schema}
          value={own(value, name)}
          path={[...path, name]}
          label={name}
          required={required}
        />
      ))}
      {fields.length > most && (
        <button type="button" class="small" onClick={more}>
          Show {Math.min(next, fields.length - most)} more of {fields.length} fields
        </button>
      )}
      {(object.open || object.extra.length > 0) && <MapEntries {...props} object={object} />}
      {fields.length === 0 && !object.open && object.extra.length === 0 && <p class="quiet">{label} has no fields.</p>}
    </div>
  )
}
