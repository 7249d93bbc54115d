import type { Documents } from './same.ts'
import type { Schema } from './schema.ts'

/** The use of a schema: values that callers send, or values that they receive. */
export type Direction = 'args' | 'result'

/**
 * `breaks`: valid arguments are now rejected, or a result may have new values. `fits`: nothing breaks. `unclear`: the
 * schemas do not show it.
 */
export type ChangeKind = 'breaks' | 'fits' | 'unclear'

export interface SchemaChange {
  /** JSON Pointer of the values concerned; `*` stands for any item or field. */
  pointer: string
  kind: ChangeKind
  text: string
}

/** What a change does to the values that are let through: more of them, fewer, none but in words, or who knows. */
export type Effect = 'more' | 'fewer' | 'docs' | 'unclear'

export const kindOf = (effect: Effect, direction: Direction): ChangeKind => {
  if (effect === 'docs') return 'fits'
  if (effect === 'unclear') return 'unclear'
  return (effect === 'more') === (direction === 'args') ? 'fits' : 'breaks'
}

/** Compares two schemas at one place; what it finds goes to `tell`. */
export interface Comparing {
  readonly documents: Documents
  readonly direction: Direction
  tell(pointer: string, effect: Effect, text: string): void
  compare(pointer: string, before: Schema, after: Schema): void
}
