import { useMemo } from 'preact/hooks'
import { memo } from '../parts/memo.ts'
import { Control } from './control.tsx'
import { Marks, Name } from './field-head.tsx'
import { FieldState } from './field-state.tsx'
import { Folded, FoldToggle } from './fold.tsx'
import { givenOf } from './model/initial.ts'
import { ownText, type Path, toPointer } from './model/json.ts'
import { isGroupView } from './model/opening.ts'
import { viewOf } from './model/view.ts'
import { useActions, useMessages } from './shared/context.ts'
import type { ControlProps } from './shared/control-props.ts'
import type { FieldProps } from './shared/field-props.ts'
import { Prose } from './shared/prose.tsx'
import { useFold } from './use-fold.ts'
import { useOpening } from './use-opening.ts'

const isPath = (value: unknown): value is Path => Array.isArray(value)

/** Of two paths to the same place each drawing makes its own. */
const isSame = (a: unknown, b: unknown): boolean =>
  a === b || (isPath(a) && isPath(b) && a.length === b.length && a.every((step, i) => step === b[i]))

/** A part whose value did not change is not drawn again: with thousands of them typing would lag. */
export const Field = memo((props: FieldProps) => <DrawnField {...props} />, isSame)

/** One part of the value: label, state, control, description and what is wrong with it. */
const DrawnField = (props: FieldProps) => {
  const { schema, value, path, label, required } = props
  const { refs, id: formId } = useActions()
  const view = useMemo(() => viewOf(schema, refs), [schema])
  const pointer = toPointer(path)
  const messages = useMessages(pointer)
  const id = `${formId}${pointer}`.replaceAll(/\s/g, '_')
  const description = ownText(view.flat.keywords, 'description')
  const isGroup = isGroupView(view)
  const { isSealed, isClosed, isOpened, put, leaveOut } = useOpening(props, view)
  const { mayFold, isFolded, isDrawn, toggle } = useFold(view, value, path, pointer, isClosed)
  const described = [
    description !== undefined && !isFolded && `${id}-about`,
    messages.length > 0 && `${id}-wrong`,
  ].filter(Boolean)
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
        {mayFold && <FoldToggle {...{ id, pointer, label, isFolded }} onToggle={toggle} />}
        <Name {...props} id={id} view={view} isGroup={isGroup} />
        {isFolded ? <Folded {...{ id, pointer, schema, value, path }} /> : <Marks view={view} />}
        {!isSealed && (
          <FieldState
            {...{ view, value, pointer, label, required, isOpened, put, leaveOut }}
            given={() => givenOf(schema, refs)}
          />
        )}
        {props.tools !== undefined && <span class="tools">{props.tools}</span>}
      </div>
      {isGroup && !isFolded && description !== undefined && <About id={id} text={description} />}
      {!isClosed && isDrawn && <Control {...{ view, value, path, pointer, label, attributes, put, Field }} />}
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
    'data-folded': isFolded ? '' : undefined,
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
