import { useMemo, useState } from 'preact/hooks'
import { own } from '../model/json.ts'
import { objectViewOf } from '../model/object-view.ts'
import { useActions } from '../shared/context.ts'
import type { ControlProps } from '../shared/control-props.ts'
import { MapEntries } from './map-entries.tsx'

/** More fields than these are drawn when they are asked for. */
const batch = 200

/** An object: its declared fields, then the entries under further keys. */
export const ObjectFields = (props: ControlProps) => {
  const { view, value, path, label, Field } = props
  const { refs } = useActions()
  const [most, setMost] = useState(batch)
  const object = useMemo(() => objectViewOf(view.flat, value, refs), [view, value, refs])
  const { fields } = object
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
        <button type="button" class="small" onClick={() => setMost(most + batch)}>
          Show {Math.min(batch, fields.length - most)} more of {fields.length} fields
        </button>
      )}
      {(object.open || object.extra.length > 0) && <MapEntries {...props} object={object} />}
      {fields.length === 0 && !object.open && object.extra.length === 0 && <p class="quiet">{label} has no fields.</p>}
    </div>
  )
}
