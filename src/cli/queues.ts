import type { QueueOverview } from '../catalogue/overview.ts'
import { describeTarget } from '../redis/target.ts'
import { isQueueName } from '../wire/keys.ts'
import { settingsOf } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { formatDuration } from './duration.ts'
import { exitCodes } from './exit-codes.ts'
import { aboutLoad, formatShare, loadColumns, rejectedColumn } from './figures.ts'
import { jsonOption } from './options.ts'
import type { Output } from './output.ts'
import { formatTime } from './pause.ts'
import { printable } from './printable.ts'
import { readRegistry } from './registry.ts'
import { type Column, writeTable } from './table.ts'
import { unreadableOf, warn } from './warnings.ts'

const isPaused = ({ pausedMs }: QueueOverview): boolean => pausedMs !== undefined
const isStuck = ({ backlog, workers }: QueueOverview): boolean => backlog > 0 && workers === 0

const hasScheduled = ({ scheduled = 0 }: QueueOverview): boolean => scheduled > 0
const hasKeys = ({ keys }: QueueOverview): boolean => keys !== undefined
const hasRetrying = ({ retrying = 0 }: QueueOverview): boolean => retrying > 0

const durationOf = (ms: number | undefined): string => (ms ? formatDuration(ms) : '-')

/** Most queues have nothing to say in some columns: these are only shown where a queue has. */
type QueueColumn = Column<QueueOverview> & { isWanted?: (queue: QueueOverview) => boolean }

const columns: QueueColumn[] = [
  { title: 'QUEUE', value: queue => queue.queue },
  {
    title: 'STATE',
    value: queue => (isPaused(queue) ? 'paused' : 'served'),
    isWanted: isPaused,
    style: queue => (isPaused(queue) ? 'yellow' : undefined),
  },
  { title: 'BACKLOG', value: queue => queue.backlog, right: true },
  {
    title: 'OLDEST WAIT',
    value: ({ oldestMs }) => (oldestMs === undefined ? '-' : formatDuration(oldestMs)),
    right: true,
  },
  { title: 'JOBS', value: queue => queue.jobs, right: true, rank: 5 },
  {
    title: 'OLDEST JOB',
    value: ({ oldestJobMs }) => (oldestJobMs === undefined ? '-' : formatDuration(oldestJobMs)),
    isWanted: ({ oldestJobMs }) => oldestJobMs !== undefined,
    right: true,
    rank: 7,
  },
  { title: 'SCHEDULED', value: ({ scheduled }) => scheduled ?? '-', isWanted: hasScheduled, right: true, rank: 8 },
  { title: 'RETRYING', value: ({ retrying }) => retrying ?? '-', isWanted: hasRetrying, right: true, rank: 8 },
  { title: 'KEYS', value: ({ keys }) => keys?.waiting ?? '-', isWanted: hasKeys, right: true, rank: 7 },
  { title: 'KEY LAG', value: ({ keys }) => durationOf(keys?.lagMs), isWanted: hasKeys, right: true, rank: 7 },
  { title: 'KEYS RUNNING', value: ({ keys }) => keys?.running ?? '-', isWanted: hasKeys, right: true, rank: 8 },
  { title: 'LONGEST RUN', value: ({ keys }) => durationOf(keys?.longestMs), isWanted: hasKeys, right: true, rank: 8 },
  {
    title: 'DEAD',
    value: queue => queue.dead,
    right: true,
    rank: 7,
    style: queue => (queue.dead > 0 ? 'yellow' : undefined),
  },
  { title: 'HELD', value: queue => queue.held, right: true, rank: 6 },
  { title: 'BUSY', value: queue => `${queue.busy}/${queue.slots}`, right: true },
  {
    title: 'WORKERS',
    value: queue => queue.workers || 'none',
    right: true,
    style: queue => (isStuck(queue) ? 'red' : undefined),
  },
  { title: 'SHARE', value: queue => formatShare(queue.busyShare), right: true, rank: 5 },
  rejectedColumn<QueueOverview>(),
  ...loadColumns<QueueOverview>(),
]

/** Those that `pshub top` shows too. */
export const queueColumns = (queues: readonly QueueOverview[]): Column<QueueOverview>[] =>
  columns.filter(({ isWanted }) => isWanted === undefined || queues.some(isWanted))

const run = async (invocation: Invocation): Promise<number> => {
  const { flags, output } = invocation
  const settings = settingsOf('hub', queuesCommand, invocation, 'silent')
  const overview = await readRegistry(settings)
  const { queues } = overview
  warn(output.err, unreadableOf(overview))
  if (flags.json !== undefined) output.json(queues)
  else if (queues.length > 0) {
    writeTable(output.out, queueColumns(queues), queues)
    for (const queue of queues.filter(isPaused)) tellPause(queue, output)
    for (const queue of queues.filter(isStuck)) warnOfStuck(queue, output)
  } else if (overview.unreadable.length > 0) return exitCodes.failed
  else {
    output.err.line(`No queue is known in namespace '${settings.namespace}' of ${describeTarget(settings.redis)} yet.`)
    output.err.line('To create one, start a worker: pshub worker ./tasks.mjs')
  }
  return exitCodes.ok
}

const tellPause = ({ queue, pausedMs }: QueueOverview, { err }: Output): void => {
  const hint = isQueueName(queue) ? ` To resume: pshub resume ${queue}` : ''
  err.line(`${printable(queue)} is paused since ${formatTime(pausedMs!)}; its workers claim nothing.${hint}`)
}

const warnOfStuck = ({ queue, backlog }: QueueOverview, { err }: Output): void => {
  const what = backlog === 1 ? '1 request waits' : `${backlog} requests wait`
  const text = `${what} in ${queue}, which no live worker serves.`
  // People paste what they are told to run: a name that is none is not put into a command.
  const hint = isQueueName(queue) ? ` Start one: pshub worker <module> --queue ${queue}` : ''
  warn(err, `${text}${hint}`)
}

export const queuesCommand: Command = {
  name: 'queues',
  usage: 'queues',
  summary: 'list the queues and their backlog',
  about: [
    'Lists the queues with their waiting calls, the wait of the oldest, waiting and dead jobs, the requests held by ' +
      'workers, busy and total slots, live workers, and the SHARE of slot time used. If there are any, it also shows ' +
      'how long the first job has been due (OLDEST JOB), SCHEDULED and RETRYING jobs. It warns about calls that wait ' +
      'in a queue without workers. The STATE column appears when a queue is paused (pshub pause).',
    'For keyed jobs: KEYS is the number of waiting keys, due or not, KEY LAG how long the first due key has waited, ' +
      'KEYS RUNNING the running keys, and LONGEST RUN the longest run. pshub key shows what blocks a key.',
    aboutLoad,
  ],
  arity: { min: 0, max: 0 },
  options: [jsonOption],
  examples: [
    { line: 'pshub queues', about: 'all of them' },
    { line: "pshub queues --json | jq '.[] | select(.backlog > 100) | .queue'", about: 'those with a long backlog' },
  ],
  run,
}
