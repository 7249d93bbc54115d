import type { JsonSchema } from 'pshub'
import { type ChangeKind, compareSchemas, type SchemaChange } from '../../../src/schema-diff/index.ts'
import type { TaskVersion } from '../../contract.ts'
import { rounded } from '../json/exact.ts'
import { ms } from '../text/figures.ts'

/** All that differs between two versions of a task. */
export interface VersionChanges {
  args: SchemaChange[]
  result: SchemaChange[]
  options: SchemaChange[]
}

export const changesOf = (before: TaskVersion, after: TaskVersion): VersionChanges => ({
  args: compareSchemas(plain(before.args), plain(after.args), 'args'),
  result: compareSchemas(plain(before.result), plain(after.result), 'result'),
  options: optionChanges(before, after),
})

/** The comparison is that of the command line, which has no BigInts. */
const plain = (schema: JsonSchema | undefined) => rounded(schema) as JsonSchema | undefined

const optionChanges = (before: TaskVersion, after: TaskVersion): SchemaChange[] => {
  const changes: SchemaChange[] = []
  const tell = (pointer: string, kind: ChangeKind, text: string) => changes.push({ pointer, kind, text })
  if (before.timeoutMs !== after.timeoutMs) {
    const kind = after.timeoutMs < before.timeoutMs ? 'unclear' : 'fits'
    tell('timeout', kind, `Was ${ms(before.timeoutMs)}, is ${ms(after.timeoutMs)}, for calls without a timeout.`)
  }
  if (before.idempotent && !after.idempotent)
    tell('idempotent', 'unclear', 'No longer idempotent: a call whose worker crashes fails and is not retried.')
  if (!before.idempotent && after.idempotent) tell('idempotent', 'fits', 'Now idempotent: it may run more than once.')
  if (before.dangerous === undefined && after.dangerous !== undefined)
    tell('dangerous', 'unclear', 'Now dangerous: it needs a confirmation.')
  if (before.dangerous !== undefined && after.dangerous === undefined)
    tell('dangerous', 'unclear', 'No longer dangerous: it runs without a confirmation.')
  if (before.description !== after.description) tell('description', 'fits', 'The description changed.')
  return changes
}

/** What all changes together come to: the worst of them. */
export const worstOf = ({ args, result, options }: VersionChanges): ChangeKind => {
  const kinds = new Set([...args, ...result, ...options].map(({ kind }) => kind))
  return (['breaks', 'unclear', 'fits'] as const).find(kind => kinds.has(kind)) ?? 'fits'
}
