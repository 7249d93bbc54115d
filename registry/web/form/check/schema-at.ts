import { decodeFragment, parsePointer } from '../../../../src/schema-diff/pointer.ts'
import { own } from '../model/json.ts'
import type { SchemaAt } from './problems.ts'

/** Follows a location of the validator's output through the schema; a `$ref` leads to what the validator resolved it to. */
export const makeSchemaAt =
  (root: unknown, lookup: Readonly<Record<string, unknown>>): SchemaAt =>
  location => {
    let node = root
    for (const part of location.split('/').slice(1)) {
      const [name = ''] = parsePointer(`/${decodeFragment(part)}`)
      if (name === '$ref') {
        const { __absolute_ref__: absolute, $ref } = node as { __absolute_ref__?: string; $ref?: string }
        node = lookup[absolute ?? $ref ?? '']
      } else node = Array.isArray(node) ? node[Number(name)] : own(node, name)
    }
    return node
  }
