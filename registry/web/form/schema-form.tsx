import '../looks/form.css'
import { useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { JsonSchema, Problem } from 'pshub'
import { Field } from './field.tsx'
import { initialOf } from './model/initial.ts'
import { equal, ownArray, setIn } from './model/json.ts'
import { makeRefs } from './model/refs.ts'
import { ActionsContext, type FormActions, StateContext } from './shared/context.ts'
import { useChecks } from './use-checks.ts'

export { parseJson } from './model/json-text.ts'
export { focusField } from './shared/focus.ts'
export { ProblemSummary } from './summary.tsx'

export interface SchemaFormProps {
  /** JSON Schema, draft 2020-12; true accepts anything. It was written by whoever declared the task. */
  schema: JsonSchema | boolean
  /** The value shown; undefined: nothing yet, the form then starts with what the schema prescribes. */
  value: unknown
  onChange(value: unknown): void
  /** What somebody else, the worker for example, found wrong; shown at the fields their pointers name. */
  problems: readonly Problem[]
  /** Told what the form itself finds wrong with the value, whenever that changes. */
  onProblems?(own: Problem[]): void
  /** Also marks required fields that nobody has visited yet. */
  showAll?: boolean
}

/** What a form starts with: defaults, fixed values and the required parts. */
export const initialValue = (schema: JsonSchema | boolean): unknown => initialOf(schema, makeRefs(schema))

/** A form for the values that a schema allows. */
export const SchemaForm = (props: SchemaFormProps) => {
  const schema = useSame(props.schema)
  // A form of its own for each schema: what is kept per field means nothing to another schema.
  const count = useRef({ schema, key: 0 })
  if (count.current.schema !== schema) count.current = { schema, key: count.current.key + 1 }
  return <Form key={count.current.key} {...props} schema={schema} />
}

/** The same object while its content is the same: the service sends a task's schema again and again. */
const useSame = <T,>(value: T): T => {
  const kept = useRef(value)
  if (kept.current !== value && JSON.stringify(kept.current) !== JSON.stringify(value)) kept.current = value
  return kept.current
}

const Form = ({ schema, value, onChange, problems, onProblems, showAll = false }: SchemaFormProps) => {
  const root = useRef<HTMLDivElement>(null)
  const id = useId()
  // Two changes may come between two drawings, so each starts from the newest value and not from the drawn one.
  const newest = useRef({ value, drawn: value, epoch: 0 })
  if (value !== newest.current.drawn) {
    const isOwn = value === newest.current.value || equal(value, newest.current.value)
    newest.current = { value, drawn: value, epoch: newest.current.epoch + (isOwn ? 0 : 1) }
  }
  const latest = useRef({ onChange })
  latest.current = { onChange }
  const change = (next: unknown): void => {
    newest.current = { ...newest.current, value: next }
    latest.current.onChange(next)
  }
  const refs = useMemo(() => makeRefs(schema), [schema])
  const { epoch } = newest.current
  const checks = useChecks({ schema, value, epoch, problems, onProblems, showAll })
  const focus = useRef<string | undefined>(undefined)
  const [, setDrawn] = useState(0)
  const actions = useMemo<FormActions>(
    () => ({
      refs,
      id,
      set: (path, part, keep) => {
        checks.touch(path)
        change(setIn(newest.current.value, path, part, keep))
      },
      setDraft: checks.setDraft,
      setBranch: checks.setBranch,
      focusNext: selector => {
        focus.current = selector
        // What it is for may change nothing that draws the whole form.
        setDrawn(count => count + 1)
      },
    }),
    [refs],
  )
  useLayoutEffect(() => {
    if (focus.current === undefined) return
    // Of several selectors the first that finds something able to take the focus.
    for (const selector of focus.current.split(', ')) {
      const found = [...(root.current?.querySelectorAll<HTMLElement>(selector) ?? [])].find(
        one => !one.matches(':disabled'),
      )
      if (!found) continue
      found.focus()
      break
    }
    focus.current = undefined
  })
  useLayoutEffect(() => {
    const initial = value === undefined ? initialOf(schema, refs) : undefined
    if (initial !== undefined) change(initial)
  }, [refs])
  const state = useMemo(() => ({ messages: checks.messages, epoch }), [checks.messages, epoch])
  return (
    <ActionsContext.Provider value={actions}>
      <StateContext.Provider value={state}>
        <div class="schema-form" ref={root} onFocusOut={checks.onFocusOut}>
          <Examples schema={schema} onChoose={change} />
          <Field schema={schema} value={value} path={[]} label="Arguments" required kept />
          {checks.unchecked !== undefined && (
            <p class="unchecked" role="status">
              Not checked here: {checks.unchecked}. The worker decides.
            </p>
          )}
        </div>
      </StateContext.Provider>
    </ActionsContext.Provider>
  )
}

const maxExamples = 9

const Examples = ({ schema, onChoose }: { schema: unknown; onChoose(value: unknown): void }) => {
  const examples = ownArray(schema, 'examples')?.slice(0, maxExamples) ?? []
  const [chosen, setChosen] = useState(-1)
  if (examples.length === 0) return null
  return (
    <div class="examples">
      <span class="quiet">Fill in</span>
      {examples.map((example, i) => (
        <button
          key={i}
          type="button"
          class="small"
          aria-pressed={chosen === i}
          data-example={i}
          onClick={() => {
            setChosen(i)
            onChoose(example)
          }}
        >
          {examples.length === 1 ? 'the example' : `example ${i + 1}`}
        </button>
      ))}
    </div>
  )
}
