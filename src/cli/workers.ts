import type { Overview, QueueOverview, WorkerOverview } from '../catalogue/overview.ts'
import { describeTarget } from '../redis/target.ts'
import { settingsOf } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { formatDuration } from './duration.ts'
import { exitCodes } from './exit-codes.ts'
import { aboutLoad, formatBytes, formatMs, formatShare, loadColumns } from './figures.ts'
import { jsonOption } from './options.ts'
import { readRegistry } from './registry.ts'
import { type Column, writeTable } from './table.ts'
import { unreadableOf, warn } from './warnings.ts'

/** Enough of an id to tell workers apart. */
export const shortId = (id: string): string => id.slice(0, 8)

const stateStyles = { live: 'green', paused: 'yellow', draining: 'yellow', lost: 'red' } as const

/** What a worker does; whether it is paused is its queue's to say. */
export const stateColumn = (queues: QueueOverview[]): Column<WorkerOverview> => {
  const paused = new Set(queues.filter(({ pausedMs }) => pausedMs !== undefined).map(({ queue }) => queue))
  const stateOf = ({ live, stats, queue }: WorkerOverview): keyof typeof stateStyles => {
    if (!live) return 'lost'
    if (stats?.draining) return 'draining'
    return paused.has(queue) ? 'paused' : 'live'
  }
  return { title: 'STATE', value: stateOf, style: worker => stateStyles[stateOf(worker)] }
}

/** Those that `pshub top` shows too. */
export const workerColumns: Column<WorkerOverview>[] = [
  { title: 'ID', value: worker => shortId(worker.id) },
  { title: 'QUEUE', value: worker => worker.queue, rank: 4 },
  { title: 'HOST/PID', value: worker => `${worker.host}/${worker.pid}` },
  { title: 'BUSY', value: worker => `${worker.stats?.busy ?? '?'}/${worker.slots}`, right: true },
  { title: 'SHARE', value: worker => formatShare(worker.stats?.busyShare), right: true },
  ...loadColumns<WorkerOverview>(),
  { title: 'LOOP ms', value: ({ stats }) => loopOf(stats), right: true, rank: 5 },
  { title: 'MEMORY', value: worker => formatBytes(worker.stats?.rssBytes), right: true, rank: 6 },
]

/** Where nobody says which build it runs, there is no column of it. */
const buildColumn: Column<WorkerOverview> = { title: 'BUILD', value: ({ build }) => build ?? '-', rank: 7 }

const columnsOf = ({ atMs: nowMs, queues, workers }: Overview): Column<WorkerOverview>[] => [
  ...workerColumns,
  { title: 'TASKS', value: worker => Object.keys(worker.tasks).length, right: true, rank: 10 },
  { title: 'OK', value: worker => worker.stats?.counters.ok ?? '?', right: true, rank: 9 },
  { title: 'FAILED', value: worker => worker.stats?.counters.failed ?? '?', right: true, rank: 8 },
  ...(workers.some(({ build }) => build !== undefined) ? [buildColumn] : []),
  { title: 'LAST SEEN', value: worker => lastSeen(worker, nowMs), right: true, rank: 7 },
  stateColumn(queues),
]

const loopOf = (stats: WorkerOverview['stats']): string =>
  stats?.loopMs === undefined ? '-' : `${formatMs(stats.loopMs.p99 * 1000)} / ${formatMs(stats.loopMs.max * 1000)}`

const lastSeen = ({ stats }: WorkerOverview, nowMs: number): string =>
  Number.isFinite(stats?.seen) ? `${formatDuration(Math.max(0, nowMs - stats!.seen))} ago` : '?'

const run = async (invocation: Invocation): Promise<number> => {
  const { flags, output } = invocation
  const settings = settingsOf('hub', workersCommand, invocation, 'silent')
  const overview = await readRegistry(settings)
  warn(output.err, unreadableOf(overview))
  if (flags.json !== undefined) output.json(overview.workers)
  else if (overview.workers.length > 0) writeTable(output.out, columnsOf(overview), overview.workers)
  else if (overview.unreadable.length > 0) return exitCodes.failed
  else {
    output.err.line(`No worker runs in namespace '${settings.namespace}' of ${describeTarget(settings.redis)}.`)
    output.err.line('Start one: pshub worker ./tasks.mjs')
  }
  return exitCodes.ok
}

export const workersCommand: Command = {
  name: 'workers',
  usage: 'workers',
  summary: 'list the workers and their load',
  about: [
    'Lists the workers with their busy slots, the SHARE of slot time used, the delay of their event loop (99th ' +
      'percentile and maximum, both of the last minute), memory, number of tasks, succeeded and failed calls since ' +
      "their start, their build (pshub worker --build), and their last heartbeat. A worker is 'live', 'paused' (its " +
      "queue is paused), 'draining' (stopping, finishing its running tasks) or 'lost' (its lease expired: it crashed, " +
      'or is cut off from Redis).',
    aboutLoad,
  ],
  arity: { min: 0, max: 0 },
  options: [jsonOption],
  examples: [
    { line: 'pshub workers', about: 'all of them' },
    { line: "pshub workers --json | jq '[.[] | select(.live)] | length'", about: 'how many are live' },
  ],
  run,
}
