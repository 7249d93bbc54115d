import { compareSchemas, type SchemaChange } from '../schema-diff/index.ts'
import { whyUnusable } from '../task/schema.ts'
import { chunkSchema, type TaskSchemas } from './schemas.ts'

/** What became of one task, for those who call it. */
export interface TaskChange extends SchemaChange {
  /** `name:version`; empty where schemas without a task are compared. */
  task: string
  of: 'args' | 'result' | 'yields' | 'task'
}

/** What is different of the later one, in the order of arguments, result and chunks. */
export const changesOf = (before: TaskSchemas, after: TaskSchemas): TaskChange[] =>
  (['args', 'result', 'yields'] as const).flatMap(of => {
    const told = (change: SchemaChange): TaskChange => ({ task: after.task, of, ...change })
    const unclear = (text: string) => [told({ pointer: '', kind: 'unclear', text })]
    const [earlier, later] = [chunkSchema(before[of]), chunkSchema(after[of])]
    const unusable = [earlier, later].find(schema => schema !== undefined && whyUnusable(schema))
    if (unusable !== undefined) return unclear(`It cannot be compared: ${whyUnusable(unusable)}.`)
    // Not everything that tells of tasks tells of chunks.
    if (of === 'yields' && earlier && !later) return unclear('Its chunks are no longer described.')
    return compareSchemas(earlier, later, of === 'args' ? 'args' : 'result').map(told)
  })

/** The same of many: a task that is gone breaks its callers, a new one nobody. */
export const changesOfAll = (before: readonly TaskSchemas[], after: readonly TaskSchemas[]): TaskChange[] => {
  const whole = (task: string, kind: TaskChange['kind'], text: string): TaskChange => ({
    task,
    of: 'task',
    pointer: '',
    kind,
    text,
  })
  const now = new Map(after.map(each => [each.task, each]))
  const known = new Set(before.map(({ task }) => task))
  return [
    ...before.flatMap(old => {
      const found = now.get(old.task)
      return found ? changesOf(old, found) : [whole(old.task, 'breaks', 'The task no longer exists.')]
    }),
    ...after.filter(({ task }) => !known.has(task)).map(({ task }) => whole(task, 'fits', 'New task.')),
  ]
}
