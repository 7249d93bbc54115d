import { type FailureOverview, type JsonSchema, type SlowCallOverview, type TaskOverview, whyUnusable } from 'pshub'
import type { TaskDetail, TaskVersion } from '../contract.ts'
import { mostOfOne } from './call-list.ts'
import type { HistoryStore } from './history.ts'
import type { Reading } from './readings.ts'
import { hostsOf, taskRow } from './rows.ts'

/** All that the page of one task shows; undefined for one that the registry does not know. */
export const taskDetail = (
  { overview }: Reading,
  history: HistoryStore,
  name: string,
  { slow, failures }: { slow: SlowCallOverview[]; failures: FailureOverview[] },
  mayRun: (task: string) => boolean,
): TaskDetail | undefined => {
  const card = overview.tasks.find(known => known.task === name)
  if (!card) return undefined
  const task = { ...card, ...card.exact }
  const row = taskRow(task, hostsOf(overview), history)
  const sameName = overview.tasks.filter(known => known.task.startsWith(`${row.name}:`))
  return {
    row,
    description: task.description,
    registeredMs: task.at * 1000,
    args: usable(task.args),
    result: usable(task.result),
    yields: task.yields === undefined || task.yields === true ? task.yields : (usable(task.yields) ?? true),
    unusable: task.args === undefined ? undefined : whyUnusable(task.args),
    runnable: mayRun(name),
    versions: sameName.map(versionOf),
    providers: task.workers,
    slow: slow.filter(call => call.task === name).slice(0, mostOfOne),
    failures: failures.filter(failure => failure.task === name).slice(0, mostOfOne),
    unanswered: overview.unanswered.filter(({ task }) => task === name).slice(0, mostOfOne),
    callers: task.callers,
  }
}

/** Schemas are somebody else's data: those beyond the bounds are not even shown. */
const usable = (schema: JsonSchema | undefined): JsonSchema | undefined =>
  schema === undefined || whyUnusable(schema) === undefined ? schema : undefined

const versionOf = ({
  task,
  workers,
  description,
  timeoutMs,
  idempotent,
  dangerous,
  args,
  result,
  exact,
}: TaskOverview): TaskVersion => ({
  task,
  version: task.slice(task.lastIndexOf(':') + 1),
  workers: workers.length,
  description,
  timeoutMs,
  idempotent,
  ...(dangerous === undefined ? {} : { dangerous }),
  args: usable(exact?.args ?? args),
  result: usable(exact?.result ?? result),
})
