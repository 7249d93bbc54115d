import type { JsonSchema } from 'pshub'
import { nodeOf } from '../json/exact.ts'
import { JsonTree } from '../json/tree.tsx'

/** A schema as it was declared. */
export const SchemaView = ({ name, schema, none }: { name: string; schema: JsonSchema | undefined; none: string }) => (
  <section class="schema">
    <h3>{name}</h3>
    {schema === undefined ? <p class="quiet">{none}</p> : <JsonTree node={nodeOf(schema)} />}
  </section>
)
