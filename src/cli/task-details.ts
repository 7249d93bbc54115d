import type { Overview, TaskOverview } from '../catalogue/overview.ts'
import { otherCallers } from '../figures/callers.ts'
import type { TaskCaller, Waits } from '../figures/load.ts'
import { type Counts, countOf, phaseNames } from '../figures/task-stats.ts'
import type { Phases } from '../wire/phases.ts'
import { aboutDanger } from './danger.ts'
import { formatDuration } from './duration.ts'
import { formatMs, formatRate, formatShare, phaseTitles } from './figures.ts'
import type { Sink } from './output.ts'
import { printable, printableJson } from './printable.ts'
import { type Column, writeTable } from './table.ts'
import { doubledOf, queueNames } from './warnings.ts'

const aboutKeyed: Record<NonNullable<TaskOverview['keyed']>, string> = {
  ordered: 'jobs with the same --key run one at a time',
  merged: 'payloads with the same --key are merged into one run; a key has at most one run at a time',
}

/** Writes all that the registry says of one task. */
export const writeTask = (task: TaskOverview, { workers }: Overview, sink: Sink): void => {
  const providers = workers.filter(({ id }) => task.workers.includes(id))
  const served = providers.map(({ host, pid }) => printable(`${host}/${pid}`)).join(', ')
  const fields: [string, string][] = [
    ['queue', printable(task.queues.length > 1 ? queueNames(task.queues) : task.queue)],
    ['live workers', providers.length === 0 ? 'none: a call fails with NoWorkers' : `${providers.length}: ${served}`],
    ['timeout', formatDuration(task.timeoutMs)],
    [
      'idempotent',
      task.idempotent
        ? 'yes: another worker runs it again if its worker crashes'
        : 'no: not run again if its worker crashes',
    ],
  ]
  if (task.yields !== undefined) fields.push(['yields', 'yes: pshub call --stream prints each chunk as it arrives'])
  if (task.dangerous !== undefined) fields.push(['dangerous', aboutDanger(task.dangerous)])
  if (task.keyed !== undefined) fields.push(['jobs', `${task.keyed}: ${aboutKeyed[task.keyed]}`])
  sink.line(sink.paint('bold', printable(task.task)))
  for (const line of task.description.trim().split(/\r?\n/)) if (line.trim()) sink.line(`  ${printable(line)}`)
  sink.line()
  for (const [name, value] of fields) sink.line(`  ${name.padEnd(12)}  ${value}`)
  if (task.conflict) {
    sink.line(
      `  ${sink.paint('yellow', 'warning')}       live workers declare it with different schemas; this shows one`,
    )
  }
  const doubled = doubledOf(task)
  if (doubled) sink.line(`  ${sink.paint('yellow', 'warning')}       ${printable(doubled)}`)
  writeLoad(task, sink)
  writeCallers(task, sink)
  writeSchema('arguments', task.args, sink)
  writeSchema('result', task.result, sink)
  if (task.yields !== undefined && task.yields !== true) writeSchema('each chunk', task.yields, sink)
}

/** What it did lately, in full, and in all. */
const writeLoad = ({ load, totals, workers }: TaskOverview, sink: Sink): void => {
  sink.line()
  sink.line('last minute:')
  const codes = codesOf(load)
  if (load.callsPerSecond === 0 && codes === '') sink.line('  no calls ended')
  else {
    const told = codes === '' ? '' : ` (${codes})`
    sink.line(`  ${formatRate(load.callsPerSecond)} calls/s, errors ${formatShare(load.errorRate)}${told}`)
    const rows = phaseNames.map(phase => ({ phase, waits: load.us[phase] }))
    sink.line()
    writeTable(indented(sink), waitColumns, rows)
  }
  const all = countOf(totals)
  if (all === 0) return
  sink.line()
  sink.line(`${workers.length === 1 ? "since its worker's start" : "since its workers' start"}:`)
  sink.line(
    `  ${all} ${all === 1 ? 'call' : 'calls'}: ${[`${totals.ok} ok`, codesOf(totals)].filter(Boolean).join(', ')}`,
  )
}

/** `3 TaskFailed, 1 rejected as CardDeclined` */
const codesOf = ({ failed, rejected }: Pick<Counts, 'failed' | 'rejected'>): string =>
  [...Object.entries(failed), ...Object.entries(rejected).map(([code, calls]) => [`rejected as ${code}`, calls])]
    .map(([code, calls]) => `${calls} ${code}`)
    .join(', ')

/** Who calls it, busiest first. */
const writeCallers = ({ callers }: TaskOverview, sink: Sink): void => {
  if (callers.length === 0) return
  sink.line()
  sink.line('callers:')
  writeTable(indented(sink), callerColumns, callers)
}

const callerColumns: Column<TaskCaller>[] = [
  { title: 'service', value: ({ name }) => (name === otherCallers ? '(others)' : name || '(no name)') },
  { title: 'calls/s', value: ({ callsPerSecond }) => formatRate(callsPerSecond), right: true },
  { title: 'calls', value: ({ calls }) => calls, right: true },
]

const waitColumns: Column<{ phase: keyof Phases; waits: Waits | undefined }>[] = [
  { title: 'ms', value: ({ phase }) => phaseTitles[phase].toLowerCase() },
  ...(['p50', 'p95', 'p99', 'max'] as const).map(name => ({
    title: name,
    value: ({ waits }: { waits: Waits | undefined }) => (waits === undefined ? '-' : formatMs(waits[name])),
    right: true,
  })),
]

const indented = (sink: Sink): Sink => ({ ...sink, line: (text = '') => sink.line(`  ${text}`) })

const writeSchema = (title: string, schema: unknown, sink: Sink): void => {
  sink.line()
  const lines = schema === undefined ? ['any JSON'] : printableJson(schema, 2).split('\n')
  sink.line(`${title}:`)
  for (const line of lines) sink.line(`  ${line}`)
}
