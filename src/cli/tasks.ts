import type { Overview, TaskOverview } from '../catalogue/overview.ts'
import { describeTarget } from '../redis/target.ts'
import { asWritten } from '../task/card.ts'
import { nearNames } from '../wire/text/near-names.ts'
import { settingsOf } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { formatDuration } from './duration.ts'
import { exitCodes } from './exit-codes.ts'
import { aboutLoad, loadColumns, rejectedColumn } from './figures.ts'
import { jsonOption } from './options.ts'
import type { Output } from './output.ts'
import { printable } from './printable.ts'
import { readRegistry } from './registry.ts'
import { type Column, writeTable } from './table.ts'
import { writeTask } from './task-details.ts'
import { doubledOf, unreadableOf, warn } from './warnings.ts'

/** Those that `pshub top` shows too. */
const leading: Column<TaskOverview>[] = [
  { title: 'TASK', value: task => task.task },
  { title: 'QUEUE', value: task => task.queue, rank: 4 },
  {
    title: 'WORKERS',
    value: task => task.workers.length || (task.retired ? 'retired' : 'none'),
    right: true,
    style: task => (task.workers.length === 0 && !task.retired ? 'yellow' : undefined),
  },
]

const dangerous: Column<TaskOverview> = {
  title: 'DANGEROUS',
  value: task => (task.dangerous === undefined ? 'no' : 'yes'),
  style: task => (task.dangerous === undefined ? undefined : 'yellow'),
  rank: 7,
}

const rejected = rejectedColumn<TaskOverview>()

/** Those that `pshub top` shows too. */
export const taskColumns = (tasks: readonly TaskOverview[]): Column<TaskOverview>[] => [
  ...leading,
  ...(tasks.some(rejected.isWanted) ? [rejected] : []),
  ...loadColumns<TaskOverview>(),
]

const columns = (tasks: readonly TaskOverview[]): Column<TaskOverview>[] => [
  ...taskColumns(tasks),
  { title: 'TIMEOUT', value: task => formatDuration(task.timeoutMs), right: true, rank: 6 },
  { title: 'IDEMPOTENT', value: task => (task.idempotent ? 'yes' : 'no'), rank: 7 },
  ...(tasks.some(({ dangerous }) => dangerous !== undefined) ? [dangerous] : []),
  { title: 'DESCRIPTION', value: task => firstLine(task.description), rank: 5 },
]

/** Descriptions are Markdown; a heading's marks say nothing here. */
const firstLine = (description: string): string =>
  (description.trim().split(/[\r\n]/, 1)[0] ?? '').replace(/^#+\s+/, '')

const run = async (invocation: Invocation): Promise<number> => {
  const { positionals, flags, output } = invocation
  const settings = settingsOf('hub', tasksCommand, invocation, 'silent')
  const overview = await readRegistry(settings)
  const wanted = positionals[0]
  const tasks = overview.tasks.filter(({ task }) => wanted === undefined || task.includes(wanted))
  const exact = tasks.find(({ task }) => task === wanted)
  warn(output.err, unreadableOf(overview))
  if (flags.json !== undefined) output.json((exact ? [exact] : tasks).map(asWritten))
  else if (exact) writeTask(asWritten(exact), overview, output.out)
  else if (tasks.length > 0) {
    writeTable(output.out, columns(tasks), tasks)
    warnOfConflicts(tasks, output)
    for (const task of tasks) warn(output.err, doubledOf(task))
  } else if (wanted !== undefined && overview.tasks.length > 0) tellNoMatch(wanted, overview, output)
  else if (overview.unreadable.length > 0) return exitCodes.failed
  else {
    output.err.line(
      `No task is declared in namespace '${settings.namespace}' of ${describeTarget(settings.redis)} yet.`,
    )
    output.err.line('Start a worker with a task: pshub worker ./tasks.mjs')
  }
  return exitCodes.ok
}

const warnOfConflicts = (tasks: TaskOverview[], { err }: Output): void => {
  for (const { task } of tasks.filter(({ conflict }) => conflict)) {
    const text = `live workers declare ${task} with different schemas; the worker that claims a call applies its own.`
    warn(err, `${text} Give the changed one a new version.`)
  }
}

const tellNoMatch = (wanted: string, { tasks }: Overview, { err }: Output): void => {
  const near = nearNames(
    wanted,
    tasks.map(({ task }) => task),
  )
  const hint = near.length > 0 ? `Did you mean ${near.join(' or ')}?` : `To list all ${tasks.length} tasks: pshub tasks`
  err.line(printable(`No task has '${wanted}' in its name. ${hint}`))
}

export const tasksCommand: Command = {
  name: 'tasks',
  usage: 'tasks [part of a name]',
  summary: 'list the tasks and their figures',
  about: [
    'Lists the declared tasks with their queue, live workers, recent figures, default timeout, and whether they are ' +
      "idempotent. 'none' means that all workers of the task crashed; 'retired' means that they stopped normally. " +
      'Calls to both fail with NoWorkers, and the registry deletes them after a day (see pshub help forget). The full ' +
      'name of a task (name:1.0) shows everything about it, including schemas.',
    aboutLoad,
  ],
  arity: { min: 0, max: 1 },
  takesTasks: true,
  options: [jsonOption],
  examples: [
    { line: 'pshub tasks', about: 'all of them' },
    { line: 'pshub tasks image', about: "those with 'image' in their names" },
    { line: 'pshub tasks resize_image:1.0', about: 'everything about one' },
    { line: "pshub tasks --json | jq -r '.[] | select(.workers == []) | .task'", about: 'those without workers' },
    {
      line: "pshub tasks --json | jq '.[] | {task, p99: .load.us.exec.p99}'",
      about: 'one figure of each, in microseconds',
    },
  ],
  run,
}
