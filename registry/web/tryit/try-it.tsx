import { useState } from 'preact/hooks'
import type { TaskDetail } from '../../contract.ts'
import { SchemaForm } from '../form/schema-form.tsx'

/** The try-it form of one task. */
export const TryIt = ({ detail }: { detail: TaskDetail }) => {
  const [value, setValue] = useState<unknown>({})
  return (
    <section aria-label="Try it">
      <SchemaForm schema={detail.args ?? true} value={value} onChange={setValue} problems={[]} />
      <pre>{JSON.stringify(value, undefined, 2)}</pre>
    </section>
  )
}
