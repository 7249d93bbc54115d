import { isDeepStrictEqual } from 'node:util'
import { isThenable } from '../../wire/returned.ts'
import type { JsonSchema } from '../schema.ts'

export interface Judge {
  readonly validate?: (value: unknown) => unknown
}

/** Said of a schema out of which comes undefined alone. */
export const nothing = { not: {} }

/** Whether undefined may come out of a schema. Its validator is asked, because libraries leave undefined out of their JSON Schemas. */
export const mayBeNothing = (judge: Judge): boolean => {
  try {
    const verdict = judge.validate?.(undefined)
    if (isThenable(verdict)) {
      verdict.then(undefined, () => undefined)
      return false
    }
    const { value, issues } = verdict as { value?: unknown; issues?: unknown }
    return !issues && value === undefined
  } catch {
    return false
  }
}

/** The JSON Schema of a result or chunk: undefined travels as null. */
export const orNull = (written: JsonSchema, judge: Judge): JsonSchema => {
  const { $schema, $defs, ...own } = written
  const { type, anyOf } = own
  if (!mayBeNothing(judge) || isWide(own) || (Array.isArray(anyOf) && anyOf.some(isWide))) return written
  if (isDeepStrictEqual(own, nothing)) return { type: 'null' }
  const nullable = typeof type === 'string' && !('enum' in own) && !('const' in own)
  return {
    ...($schema === undefined ? {} : { $schema }),
    ...(nullable ? { ...own, type: [type, 'null'] } : { anyOf: [own, { type: 'null' }] }),
    ...($defs === undefined ? {} : { $defs }),
  }
}

/** Whether it takes null, as far as that is to be seen at a glance. */
const isWide = (schema: JsonSchema | boolean): boolean => {
  if (typeof schema !== 'object') return schema
  const { type } = schema
  return Object.keys(schema).length === 0 || type === 'null' || (Array.isArray(type) && type.includes('null'))
}
