import { type FailureOverview, readFailures } from '../catalogue/call-lists.ts'
import type { UnansweredOverview } from '../catalogue/unanswered.ts'
import { settingsOf } from './arguments.ts'
import { showCalls } from './call-list.ts'
import type { Command, Invocation } from './command.ts'
import { formatDuration } from './duration.ts'
import { formatMs, phaseTitles } from './figures.ts'
import { limitOf, limitOption } from './limit.ts'
import { jsonOption } from './options.ts'
import { readRegistry } from './registry.ts'
import { type Column, writeTable } from './table.ts'
import { shortId } from './workers.ts'

const columnsAt = (nowMs: number): Column<FailureOverview>[] => [
  { title: 'WHEN', value: ({ at }) => `${formatDuration(Math.max(0, nowMs - at / 1000))} ago`, right: true },
  { title: 'TASK', value: ({ task }) => task },
  { title: 'CODE', value: ({ code }) => code, style: () => 'red' },
  { title: `${phaseTitles.exec} ms`, value: ({ execUs }) => formatMs(execUs), right: true, rank: 3 },
  { title: 'WORKER', value: ({ worker }) => shortId(worker), rank: 2 },
  { title: 'FROM', value: ({ from }) => from || '-', rank: 1 },
  { title: 'ID', value: ({ id }) => id, rank: 4 },
  { title: 'MESSAGE', value: ({ message }) => message },
]

const unansweredColumnsAt = (nowMs: number): Column<UnansweredOverview>[] => [
  { title: 'LATEST', value: ({ atMs }) => `${formatDuration(Math.max(0, nowMs - atMs))} ago`, right: true },
  { title: 'TASK', value: ({ task }) => task },
  { title: 'CODE', value: ({ code }) => code, style: () => 'red' },
  { title: 'LAST MINUTE', value: ({ lastMinute }) => lastMinute, right: true },
  { title: 'IN ALL', value: ({ count }) => count, right: true },
  { title: 'FROM', value: ({ from }) => from || '-', rank: 1 },
  { title: 'MESSAGE', value: ({ message }) => message },
]

const showUnanswered = async (invocation: Invocation): Promise<void> => {
  const { positionals, flags, output } = invocation
  const overview = await readRegistry(settingsOf('hub', failuresCommand, invocation, 'silent'))
  const [wanted] = positionals
  const all = overview.unanswered.filter(({ task }) => wanted === undefined || task.includes(wanted))
  const shown = all.slice(0, limitOf(flags.limit, failuresCommand.name))
  if (shown.length > 0) writeTable(output.out, unansweredColumnsAt(overview.atMs), shown)
}

export const failuresCommand: Command = {
  name: 'failures',
  usage: 'failures [part of a name]',
  summary: 'show recent failures, and why',
  about: [
    'Shows the calls and jobs that failed on a worker in the last hour, newest first: when each ended, its code, how ' +
      'long its handler ran (EXEC), the calling service (FROM), and the MESSAGE, cut to 300 characters. A worker keeps ' +
      'the last ten failures of each task; pshub tasks shows the counts.',
    'TaskFailed is an error of the handler. InvalidArgs and InvalidResult violate its schemas. Expired means that ' +
      'the call did not start in time because all slots were busy. Other codes come from the application. The log of ' +
      'the worker has the same ID and the stack. Calls that a handler rejected (a TaskError with a status under 500) ' +
      'are not listed: pshub tasks counts them.',
    'A second table lists the calls of the last hour that no worker answered (rejected as Overloaded or NoWorkers, ' +
      'failed as Timeout) by task, code and hub, with their count in the LAST MINUTE and IN ALL since that hub ' +
      'started. It is not part of --json.',
  ],
  arity: { min: 0, max: 1 },
  takesTasks: true,
  options: [limitOption, jsonOption],
  examples: [
    { line: 'pshub failures', about: 'of all tasks' },
    { line: 'pshub failures resize_image:1.0', about: 'of one' },
    { line: "pshub failures --json | jq -r '.[].message' | sort | uniq -c | sort -rn", about: 'the most frequent' },
  ],
  run: async invocation => {
    const code = await showCalls(
      { command: failuresCommand, read: readFailures, columnsAt, none: 'failed on a worker in the last hour.' },
      invocation,
    )
    if (invocation.flags.json === undefined) await showUnanswered(invocation)
    return code
  },
}
