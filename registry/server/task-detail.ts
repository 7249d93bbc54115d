import type { Hub, TaskOverview } from 'pshub'
import type { TaskDetail, TaskVersion } from '../contract.ts'
import type { HistoryStore } from './history.ts'
import type { Reading } from './readings.ts'
import { hostsOf, taskRow } from './rows.ts'

/** All that the page of one task shows; undefined for one that the registry does not know. */
export const taskDetail = async (
  hub: Hub,
  { overview }: Reading,
  history: HistoryStore,
  name: string,
): Promise<TaskDetail | undefined> => {
  const task = overview.tasks.find(known => known.task === name)
  if (!task) return undefined
  const row = taskRow(task, hostsOf(overview), history)
  const sameName = overview.tasks.filter(known => known.task.startsWith(`${row.name}:`))
  const slow = await hub.slowCalls()
  return {
    row,
    description: task.description,
    registeredMs: task.at * 1000,
    args: task.args,
    result: task.result,
    unusable: undefined,
    versions: sameName.map(versionOf),
    providers: task.workers,
    slow: slow.filter(call => call.task === name),
  }
}

const versionOf = ({ task, workers, description, timeoutMs, idempotent, args, result }: TaskOverview): TaskVersion => ({
  task,
  version: task.slice(task.lastIndexOf(':') + 1),
  workers: workers.length,
  description,
  timeoutMs,
  idempotent,
  args,
  result,
})
