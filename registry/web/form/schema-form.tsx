import type { JsonSchema, Problem } from 'pshub'

export interface SchemaFormProps {
  /** JSON Schema, draft 2020-12; true accepts anything. It was written by whoever declared the task. */
  schema: JsonSchema | boolean
  /** The value shown; undefined: absent. */
  value: unknown
  onChange(value: unknown): void
  /** What somebody else, the worker for example, found wrong; shown at the fields their pointers name. */
  problems: readonly Problem[]
}

/** A form for the values that a schema allows. */
export const SchemaForm = ({ value, onChange }: SchemaFormProps) => (
  <textarea
    aria-label="JSON"
    value={JSON.stringify(value)}
    onInput={event => {
      try {
        onChange(JSON.parse(event.currentTarget.value))
      } catch {
        // Not JSON yet.
      }
    }}
  />
)
