import type { DeadJob } from '../jobs/dead.ts'
import type { KeyState, KeyStatus } from '../jobs/job-key.ts'
import type { JobFailure } from '../wire/job-part.ts'
import { ago, enqueuedOrDue, until } from './jobs.ts'
import type { Sink } from './output.ts'
import { formatTime } from './pause.ts'
import { printable, printableJson } from './printable.ts'
import { type Column, writeTable } from './table.ts'

export interface KeyToShow {
  status: KeyStatus
  dead: readonly DeadJob[]
  /** When it was read, Redis milliseconds. */
  nowMs: number
  /** Of each table so many rows. */
  limit: number
}

const states: Record<KeyState, string> = {
  running: 'running',
  due: 'due: it runs as soon as a slot is idle',
  later: 'later: its time has not come',
  empty: 'empty: nothing waits or runs',
}

/** Writes all that is known of a key. */
export const writeKey = ({ status, dead, nowMs, limit }: KeyToShow, sink: Sink): void => {
  const { key, task, queue, state, dueMs, run, waiting, payloads, jobs, tries, errors } = status
  const moment = (ms: number) => `${formatTime(ms)} (${ms <= nowMs ? ago(nowMs, ms) : until(nowMs, ms)})`
  const fields: [string, string | undefined][] = [
    ['task', task],
    ['queue', queue],
    ['state', states[state]],
    ['due', dueMs === undefined ? undefined : moment(dueMs)],
    ['started', run && moment(run.sinceMs)],
    ['worker', run?.worker],
    ['fence', run && String(run.fence)],
    ['job', run?.id],
    ['waiting', waiting > 0 ? String(waiting) : undefined],
    ['failed', tries > 0 ? `${tries} ${tries === 1 ? 'time' : 'times'}` : undefined],
  ]
  sink.line(sink.paint('bold', printable(key)))
  for (const [name, value] of fields) if (value !== undefined) sink.line(`  ${name.padEnd(7)}  ${printable(value)}`)
  const part = <Row>(title: string, columns: Column<Row>[], rows: readonly Row[], all = rows.length): void => {
    if (rows.length === 0) return
    const shown = rows.slice(0, limit)
    sink.line()
    sink.line(`${title}:`)
    const indented = { ...sink, line: (text = '') => sink.line(`  ${text}`) }
    writeTable(indented, columns, shown)
    if (shown.length < all) indented.line(sink.paint('dim', `${all - shown.length} more`))
  }
  // Where a task was of the other kind before, there may be both.
  part('payloads', payloadColumns, payloads, waiting - jobs.length)
  part('jobs in line', jobColumns(nowMs), jobs, waiting - payloads.length)
  part('failures, latest first', failureColumns(nowMs), errors.toReversed())
  part('dead', deadColumns(nowMs, dead), dead)
}

const payloadColumns: Column<KeyStatus['payloads'][number]>[] = [
  { title: 'SCORE', value: ({ score }) => score, right: true },
  { title: 'PAYLOAD', value: ({ args }) => printableJson(args) },
]

const jobColumns = (nowMs: number): Column<KeyStatus['jobs'][number]>[] => [
  { title: 'ENQUEUED', value: ({ enqueuedMs }) => enqueuedOrDue(nowMs, enqueuedMs), right: true },
  { title: 'TRIES', value: ({ tries }) => tries, right: true },
  { title: 'ID', value: ({ id }) => id || '-' },
  { title: 'ARGUMENTS', value: ({ args }) => printableJson(args) },
]

const failureColumns = (nowMs: number): Column<JobFailure>[] => [
  { title: 'WHEN', value: ({ at }) => ago(nowMs, at), right: true },
  { title: 'CODE', value: ({ code }) => code, style: () => 'red' },
  { title: 'MESSAGE', value: ({ message }) => message },
]

const deadColumns = (nowMs: number, dead: readonly DeadJob[]): Column<DeadJob>[] => [
  { title: 'DEAD SINCE', value: ({ atMs }) => ago(nowMs, atMs), right: true },
  ...(dead.some(({ score }) => score !== undefined)
    ? [{ title: 'SCORE', value: ({ score }: DeadJob) => score ?? '-', right: true }]
    : []),
  { title: 'CODE', value: ({ errors }) => errors.at(-1)?.code ?? '-', style: () => 'red' },
  { title: 'ID', value: ({ id }) => id },
  { title: 'ARGUMENTS', value: ({ args }) => printableJson(args) },
]
