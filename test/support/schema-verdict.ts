import { type ChangeKind, compareSchemas } from '../../src/schema-diff/index.ts'

export type Worst = ChangeKind | 'none'

/** What the whole of a comparison comes to. */
export const worst = (before: unknown, after: unknown, direction: 'args' | 'result'): Worst => {
  const kinds = compareSchemas(before as never, after as never, direction).map(({ kind }) => kind)
  return (['breaks', 'unclear', 'fits'] as const).find(kind => kinds.includes(kind)) ?? 'none'
}
