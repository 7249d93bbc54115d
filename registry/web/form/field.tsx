import { useMemo, useState } from 'preact/hooks'
import { Control } from './control.tsx'
import { hintOf } from './model/hints.ts'
import { givenOf } from './model/initial.ts'
import { own, ownText, toPointer } from './model/json.ts'
import { type View, viewOf } from './model/view.ts'
import { useActions, useForm, useMessages } from './shared/context.ts'
import type { ControlProps } from './shared/control-props.ts'
import type { FieldProps } from './shared/field-props.ts'
import { Prose } from './shared/prose.tsx'

/** Required parts within required parts are opened without being asked down to here. */
const maxOpened = 8

const groups = new Set(['object', 'array', 'choice', 'any'])

/** One part of the value: label, state, control, description and what is wrong with it. */
export const Field = (props: FieldProps) => {
  const { schema, value, path, label, required, kept = false } = props
  const { refs, id: formId, set } = useActions()
  const view = useMemo(() => viewOf(schema, refs), [schema])
  const pointer = toPointer(path)
  const messages = useMessages(pointer)
  const id = `${formId}${pointer}`.replaceAll(/\s/g, '_')
  const { keywords } = view.flat
  const description = ownText(keywords, 'description')
  const isGroup = groups.has(view.kind)
  const isSealed = own(keywords, 'readOnly') === true && !required && value === undefined
  // A kind was chosen and its value is still to come.
  const { epoch } = useForm()
  const [openedIn, setOpened] = useState(-1)
  const isOpened = openedIn === epoch
  const isClosed = isSealed || (isGroup && value === undefined && !isOpened && (!required || path.length > maxOpened))
  const put = (next: unknown): void => {
    const isToCome = next === undefined && (view.kind === 'choice' || view.kind === 'any')
    if (isToCome) setOpened(epoch)
    set(path, next, kept || isToCome)
  }
  const leaveOut = (): void => {
    setOpened(-1)
    set(path, undefined, kept)
  }
  const described = [description !== undefined && `${id}-about`, messages.length > 0 && `${id}-wrong`].filter(Boolean)
  const attributes: ControlProps['attributes'] = {
    id,
    'data-pointer': pointer,
    'aria-labelledby': `${id}-name`,
    'aria-describedby': described.join(' ') || undefined,
    'aria-invalid': messages.length ? 'true' : undefined,
    'aria-required': required ? 'true' : undefined,
  }
  const body = (
    <>
      <div class="field-head">
        <Name {...props} id={id} view={view} isGroup={isGroup} />
        <Marks view={view} />
        {!isSealed && (
          <State
            {...{ view, value, pointer, label, required, put, leaveOut }}
            isOpened={isOpened || (isGroup && !isClosed)}
            given={() => givenOf(schema, refs)}
          />
        )}
        {props.tools !== undefined && <span class="tools">{props.tools}</span>}
      </div>
      {isGroup && description !== undefined && <About id={id} text={description} />}
      {!isClosed && <Control {...{ view, value, path, pointer, label, attributes, put, Field }} />}
      {!isGroup && description !== undefined && <About id={id} text={description} />}
      {messages.length > 0 && (
        <p class="wrong" id={`${id}-wrong`}>
          {messages.map(sentence).join(' ')}
        </p>
      )}
    </>
  )
  const shared = {
    class: 'field',
    'data-field': pointer,
    'data-kind': view.kind,
    'data-wrong': messages.length ? '' : undefined,
  }
  if (!isGroup) return <div {...shared}>{body}</div>
  return (
    <fieldset
      {...shared}
      tabIndex={-1}
      data-node={pointer}
      aria-labelledby={`${id}-name`}
      aria-describedby={attributes['aria-describedby']}
    >
      {body}
    </fieldset>
  )
}

const sentence = (message: string): string =>
  `${message.charAt(0).toUpperCase()}${message.slice(1)}`.replace(/[^.]$/, '$&.')

const About = ({ id, text }: { id: string; text: string }) => (
  <p class="about" id={`${id}-about`}>
    <Prose text={text} />
  </p>
)

const Name = ({
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

const Marks = ({ view }: { view: View }) => {
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

interface StateProps {
  view: View
  value: unknown
  pointer: string
  label: string
  required: boolean
  isOpened: boolean
  put(value: unknown): void
  leaveOut(): void
  given(): unknown
}

/** Absent, null and given are three different things; an empty text is given. */
const State = ({ view, value, pointer, label, required, isOpened, put, leaveOut, given }: StateProps) => {
  const isNull = value === null && view.nullable
  const mayMiss = !required || (value === undefined && view.kind !== 'choice' && view.kind !== 'any')
  if (!mayMiss && !view.nullable) return null
  const now = isNull ? 'null' : value === undefined && !(isOpened && !required) ? 'absent' : 'given'
  const change = (list: HTMLSelectElement): void => {
    const next = list.value
    const initial = next === 'given' ? given() : null
    if (next === 'absent') leaveOut()
    else if (initial !== undefined || view.kind === 'choice') put(initial)
    else {
      // A number or one of several values: which one has to be said at the control itself.
      list.value = now
      list.closest('.field')?.querySelector<HTMLElement>('[data-pointer]')?.focus()
    }
  }
  return (
    <select
      class="state"
      data-state={pointer}
      data-now={now}
      aria-label={`${label}: given or not`}
      value={now}
      onChange={event => change(event.currentTarget)}
    >
      {(mayMiss || value === undefined) && <option value="absent">not given</option>}
      {view.nullable && <option value="null">null</option>}
      <option value="given">given</option>
    </select>
  )
}
