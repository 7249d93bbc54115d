import { hintOf } from './model/hints.ts'
import { own, ownText } from './model/json.ts'
import type { View } from './model/view.ts'
import type { FieldProps } from './shared/field-props.ts'

/** What a field is called; the element that `aria-labelledby` means. */
export const Name = ({
  id,
  view,
  label,
  required,
  heading,
  isGroup,
  path,
}: FieldProps & { id: string; view: View; isGroup: boolean }) => {
  if (heading !== undefined)
    return (
      <>
        {heading}
        <span id={`${id}-name`} hidden>
          {label}
        </span>
      </>
    )
  const title = ownText(view.flat.keywords, 'title')
  const text = (
    <>
      <span class="name">{label}</span>
      {required && path.length > 0 && (
        <span class="required" title="required">
          <span aria-hidden="true">*</span>
          <span class="unseen"> required</span>
        </span>
      )}
      {title !== undefined && title !== label && <span class="title">{title}</span>}
    </>
  )
  return isGroup || view.kind === 'options' || view.kind === 'fixed' ? (
    <span class="label" id={`${id}-name`}>
      {text}
    </span>
  ) : (
    <label class="label" id={`${id}-name`} for={id}>
      {text}
    </label>
  )
}

/** What its schema says of it in a word or two. */
export const Marks = ({ view }: { view: View }) => {
  const { keywords } = view.flat
  const hint = hintOf(view)
  return (
    <>
      {hint !== '' && <span class="hint">{hint}</span>}
      {own(keywords, 'deprecated') === true && <span class="mark">deprecated</span>}
      {own(keywords, 'readOnly') === true && <span class="mark">read only</span>}
    </>
  )
}
