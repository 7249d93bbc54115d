import { jsonText } from '../json/exact.ts'
import { ArrayItems } from './controls/array.tsx'
import { Choice } from './controls/choice.tsx'
import { FileInput } from './controls/file.tsx'
import { JsonInput } from './controls/json.tsx'
import { NumberInput } from './controls/number.tsx'
import { ObjectFields } from './controls/object.tsx'
import { OptionsInput } from './controls/options.tsx'
import { TextInput } from './controls/text.tsx'
import { anything } from './model/branches.ts'
import { shows } from './model/view.ts'
import type { ControlProps } from './shared/control-props.ts'

/** Values nested deeper than this are shown as JSON. */
const maxDepth = 32

/** What is operated to give a value, without its label. */
export const Control = (props: ControlProps) => {
  const { view, value, path } = props
  if (value === null && view.nullable) return <output class="constant quiet">null</output>
  if (path.length > maxDepth || !shows(view, value)) return <JsonInput {...props} />
  switch (view.kind) {
    case 'never':
      return value === undefined ? <Never {...props} /> : <JsonInput {...props} />
    case 'null':
      return <Constant {...props} constant={null} />
    case 'fixed':
      return <Constant {...props} constant={view.fixed} />
    case 'options':
      return <OptionsInput {...props} options={view.options} />
    case 'number':
      return <NumberInput {...props} />
    case 'text':
      return view.text === 'file' ? <FileInput {...props} /> : <TextInput {...props} text={view.text} />
    case 'object':
      return <ObjectFields {...props} />
    case 'array':
      return <ArrayItems {...props} />
    case 'choice':
      return <Choice {...props} branches={view.branches} Control={Control} />
    case 'any':
      return <Choice {...props} branches={anything} Control={Control} />
  }
}

const Never = ({ attributes }: ControlProps) =>
  attributes['aria-required'] === undefined ? (
    <p class="quiet">Nothing is allowed here.</p>
  ) : (
    <p class="wrong">The schema requires this field and allows no value for it. Correct the schema of the task.</p>
  )

/** A value that cannot be another: giving it is all there is to do. */
const Constant = (props: ControlProps & { constant: unknown }) => {
  const { value, constant, put, pointer } = props
  const text = jsonText(constant)
  if (value !== undefined && jsonText(value) !== text) return <JsonInput {...props} />
  if (value === undefined)
    return (
      <button type="button" class="small" data-give={pointer} onClick={() => put(constant)}>
        Give {text}
      </button>
    )
  return (
    <output class="constant" data-node={pointer} tabIndex={-1}>
      {text}
    </output>
  )
}
