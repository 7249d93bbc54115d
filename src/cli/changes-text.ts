import type { TaskChange } from '../types/changes.ts'
import type { Invocation, Option } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { type Column, writeTable } from './table.ts'

export const strictOption: Option = { flag: 'strict', about: 'count unclear changes as breaking' }

const styles = { breaks: 'red', unclear: 'yellow', fits: 'green' } as const

const columns: Column<TaskChange>[] = [
  { title: 'KIND', value: ({ kind }) => kind, style: ({ kind }) => styles[kind] },
  { title: 'TASK', value: ({ task }) => task, rank: 2 },
  { title: 'WHERE', value: ({ of, pointer }) => (of === 'task' ? '' : `${of}${pointer}`), rank: 1 },
  { title: 'CHANGE', value: ({ text }) => text },
]

const order = ['breaks', 'unclear', 'fits']

/** Writes changes, the worst first, and returns the exit code that they give. */
export const writeChanges = (changes: readonly TaskChange[], { flags, output }: Invocation): number => {
  const sorted = [...changes].sort((a, b) => order.indexOf(a.kind) - order.indexOf(b.kind))
  if (flags.json !== undefined) output.json(sorted)
  else if (sorted.length > 0) {
    const isOfTasks = sorted.some(({ task }) => task !== '')
    writeTable(output.out, isOfTasks ? columns : columns.filter(({ title }) => title !== 'TASK'), sorted)
  }
  const breaking = sorted.filter(({ kind }) => kind === 'breaks' || (kind === 'unclear' && flags.strict !== undefined))
  return breaking.length > 0 ? exitCodes.failed : exitCodes.ok
}
