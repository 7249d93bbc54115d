import { Catalogue } from '../catalogue/catalogue.ts'
import {
  type JobCounts,
  type JobsListing,
  type QueuedJob,
  type QueuedState,
  queuedStates,
  readJobs,
} from '../jobs/lists/listing.ts'
import { makeKeys } from '../wire/keys.ts'
import { settingsOf, UsageError } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { formatDuration } from './duration.ts'
import { exitCodes } from './exit-codes.ts'
import { queueOf } from './flag-values.ts'
import { limitOf, limitOption } from './limit.ts'
import { jsonOption } from './options.ts'
import { printable } from './printable.ts'
import { withRedis } from './redis-session.ts'
import { type Column, writeTable } from './table.ts'

const mostListed = 10_000

const run = async (invocation: Invocation): Promise<number> => {
  const { flags } = invocation
  const settings = settingsOf('hub', jobsCommand, invocation, 'silent')
  const queue = queueOf(flags, 'jobs')
  const state = stateOf(flags.state)
  const { task, key } = flags
  if (state === undefined && (task ?? key) !== undefined)
    throw new UsageError(
      `--${task === undefined ? 'key' : 'task'} needs --state: counts cover all tasks of a queue.`,
      'jobs',
    )
  const limit = jobsLimitOf(flags.limit, 'jobs')
  const keys = makeKeys(settings.namespace)
  const listing = await withRedis(settings, connection =>
    connection.send(client => readJobs(client, new Catalogue(keys), keys, { queue, state, task, key, limit })),
  )
  if (state === undefined) showCounts(listing.counts, invocation)
  else showJobs(listing, state, invocation)
  return exitCodes.ok
}

const stateOf = (text: string | undefined): QueuedState | undefined => {
  const state = queuedStates.find(known => known === text)
  if (text === undefined || state) return state
  throw new UsageError(`--state must be ${queuedStates.join(', ')}; it is '${text}'.`, 'jobs')
}

/** @throws UsageError */
export const jobsLimitOf = (text: string | undefined, command: string): number => {
  const limit = limitOf(text, command)
  if (limit <= mostListed) return limit
  throw new UsageError(`--limit must be at most ${mostListed}; it is ${limit}.`, command)
}

const countColumns: Column<JobCounts>[] = [
  { title: 'QUEUE', value: ({ queue }) => queue },
  ...queuedStates.map(
    (state): Column<JobCounts> => ({
      title: state.toUpperCase(),
      value: counts => counts[state] ?? '?',
      right: true,
      style: counts => (state === 'dead' && (counts.dead ?? 0) > 0 ? 'yellow' : undefined),
    }),
  ),
]

const showCounts = (counts: JobCounts[], { flags, output }: Invocation): void => {
  if (flags.json !== undefined) output.json(counts)
  else if (counts.length > 0) writeTable(output.out, countColumns, counts)
  else output.err.line('No queue is known yet. To create one, start a worker: pshub worker ./tasks.mjs')
  if (flags.json === undefined && counts.some(each => queuedStates.some(state => each[state] === undefined)))
    output.err.line('This Redis user may not read what stands as ?; to see what is missing: pshub check --for view')
}

/** How long ago that was. */
export const ago = (nowMs: number, ms: number | undefined): string =>
  ms === undefined ? '-' : `${formatDuration(Math.max(0, nowMs - ms))} ago`

/** How long it is until then. */
export const until = (nowMs: number, ms: number | undefined): string => {
  if (ms === undefined) return '-'
  return ms <= nowMs ? 'now' : `in ${formatDuration(ms - nowMs)}`
}

/** One with a key waits for its time in its line, and says when it is due. */
export const enqueuedOrDue = (nowMs: number, ms: number | undefined): string =>
  ms !== undefined && ms > nowMs ? `due ${until(nowMs, ms)}` : ago(nowMs, ms)

const whenColumns: Record<QueuedState, (nowMs: number) => Column<QueuedJob>> = {
  waiting: nowMs => ({ title: 'ENQUEUED', value: ({ enqueuedMs }) => enqueuedOrDue(nowMs, enqueuedMs), right: true }),
  scheduled: nowMs => ({ title: 'DUE', value: ({ dueMs }) => until(nowMs, dueMs), right: true }),
  retrying: nowMs => ({ title: 'DUE', value: ({ dueMs }) => until(nowMs, dueMs), right: true }),
  dead: nowMs => ({ title: 'DEAD SINCE', value: ({ deadMs }) => ago(nowMs, deadMs), right: true }),
}

/** A key whose jobs are merged is one line. */
const payloadsColumn: Column<QueuedJob> = {
  title: 'PAYLOADS',
  value: ({ payloads }) => payloads ?? '-',
  right: true,
  rank: 3,
}

const columnsOf = (state: QueuedState, nowMs: number, jobs: readonly QueuedJob[]): Column<QueuedJob>[] => {
  const hasKeys = jobs.some(({ key }) => key !== undefined)
  const hasPayloads = jobs.some(({ payloads }) => payloads !== undefined)
  const hasFailed = state === 'retrying' || state === 'dead'
  const failure: Column<QueuedJob>[] = [
    { title: 'CODE', value: ({ error }) => error?.code ?? '-', style: () => 'red' },
    { title: 'MESSAGE', value: ({ error }) => error?.message ?? '' },
  ]
  return [
    whenColumns[state](nowMs),
    { title: 'QUEUE', value: ({ queue }) => queue, rank: 1 },
    { title: 'TASK', value: ({ task }) => task },
    ...(hasKeys ? [{ title: 'KEY', value: ({ key }: QueuedJob) => printable(key ?? '-'), rank: 2 }] : []),
    ...(hasPayloads ? [payloadsColumn] : []),
    ...(state === 'waiting' ? [{ title: 'PRIORITY', value: ({ priority }: QueuedJob) => priority, rank: 4 }] : []),
    { title: 'TRIES', value: ({ tries }) => tries, right: true, rank: 2 },
    ...(hasFailed ? failure.slice(0, 1) : []),
    { title: 'FROM', value: ({ from }) => from || '-', rank: 3 },
    { title: 'ID', value: ({ id }) => id ?? '-' },
    ...(hasFailed ? failure.slice(1) : []),
  ]
}

const showJobs = (
  listing: JobsListing,
  state: QueuedState,
  { flags, output: { out, err, json } }: Invocation,
): void => {
  const { jobs, atMs, more } = listing
  if (flags.json !== undefined) {
    json(jobs)
    return
  }
  if (jobs.length > 0) writeTable(out, columnsOf(state, atMs, jobs), jobs)
  const ofKey = flags.key === undefined ? '' : ` with the key ${printable(flags.key)}`
  const which = (flags.task === undefined ? '' : ` of ${printable(flags.task)}`) + ofKey
  if (more && jobs.length > 0) err.line('There may be more: use --limit, --queue, --task or --key.')
  else if (more)
    err.line(`No ${state} job${which} is among the first ${mostListed} of each queue; there are more jobs.`)
  else if (jobs.length === 0) err.line(`No job${which} is ${state}. To count the jobs in each state: pshub jobs`)
}

export const jobsCommand: Command = {
  name: 'jobs',
  usage: 'jobs',
  summary: 'count and list waiting, scheduled, retrying and dead jobs',
  about: [
    'Counts the jobs of each queue: WAITING for a slot, SCHEDULED for later, RETRYING (failed, waiting for the next ' +
      'try), and DEAD (retries used up; see pshub dead). Running jobs are HELD in pshub queues. If no known task uses ' +
      'a queue, pass it with --queue.',
    '--state lists the jobs, the next one first, dead jobs latest first: when they were enqueued, are due or became ' +
      'dead, how often they failed (TRIES), the last failure, and the service that enqueued them (FROM). A merged key ' +
      'is one line with its number of PAYLOADS (pshub key shows them).',
  ],
  arity: { min: 0, max: 0 },
  options: [
    { flag: 'queue', value: 'name', about: 'only this queue' },
    { flag: 'state', value: 'state', about: `list the jobs that are ${queuedStates.join(', ')}` },
    { flag: 'task', value: 'name:1.0', about: 'only this task; with --state' },
    { flag: 'key', value: 'text', about: 'only this key; with --state' },
    limitOption,
    jsonOption,
  ],
  examples: [
    { line: 'pshub jobs', about: 'how many in which queue' },
    { line: 'pshub jobs --state retrying', about: 'failing jobs, and when they are retried' },
    { line: "pshub jobs --state scheduled --json | jq '.[].dueMs'", about: 'as JSON, in milliseconds of Redis' },
  ],
  run,
}
