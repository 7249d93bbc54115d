import { jsonText } from '../json/exact.ts'
import '../looks/form/index.css'
import { useId, useLayoutEffect, useMemo, useRef } from 'preact/hooks'
import type { JsonSchema, Problem } from 'pshub'
import { makeRefs } from '../../schema/refs.ts'
import { Examples } from './examples.tsx'
import { Field } from './field.tsx'
import { foldsOf } from './model/folds.ts'
import { initialOf } from './model/initial.ts'
import { setIn } from './model/json.ts'
import { ActionsContext, type FormActions, StateContext } from './shared/context.ts'
import { useChecks } from './use-checks.ts'
import { useFocusNext } from './use-focus-next.ts'
import { useNewest } from './use-newest.ts'
import { useRefs } from './use-refs.ts'
import { useReveal } from './use-reveal.ts'

export { focusField } from './shared/focus.ts'

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
  if (kept.current !== value && jsonText(kept.current) !== jsonText(value)) kept.current = value
  return kept.current
}

const Form = ({ schema, value, onChange, problems, onProblems, showAll = false }: SchemaFormProps) => {
  const root = useRef<HTMLDivElement>(null)
  const id = useId()
  const { newest, change } = useNewest(value, onChange)
  const refs = useRefs(schema)
  const { epoch } = newest.current
  const checks = useChecks({ schema, value, epoch, problems, onProblems, showAll })
  const focusNext = useFocusNext(root)
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
      focusNext,
    }),
    [refs],
  )
  useLayoutEffect(() => {
    const initial = value === undefined ? initialOf(schema, refs) : undefined
    if (initial !== undefined) change(initial)
  }, [schema])
  // What is folded at first is said of the value as it came; neither typing nor what becomes known of patterns folds anything.
  const folds = useMemo(() => foldsOf(schema, value ?? initialOf(schema, refs), refs), [schema, epoch])
  const revealed = useReveal(root)
  const { messages } = checks
  const state = useMemo(() => ({ messages, epoch, folds, revealed }), [messages, epoch, folds, revealed])
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
