import type { JsonSchema } from 'pshub'
import { JsonView } from './json-view.tsx'

/** A schema as it was declared. */
export const SchemaView = ({ name, schema, none }: { name: string; schema: JsonSchema | undefined; none: string }) => (
  <section class="schema">
    <h3>{name}</h3>
    {schema === undefined ? <p class="quiet">{none}</p> : <JsonView value={schema} />}
  </section>
)
