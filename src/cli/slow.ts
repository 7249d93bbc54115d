import { readSlowCalls, type SlowCallOverview } from '../catalogue/call-lists.ts'
import { showCalls } from './call-list.ts'
import type { Command } from './command.ts'
import { formatDuration } from './duration.ts'
import { formatMs, phaseTitles } from './figures.ts'
import { limitOption } from './limit.ts'
import { jsonOption } from './options.ts'
import type { Column } from './table.ts'
import { shortId } from './workers.ts'

/** A stall of the loop that takes up this share of a call explains it. */
const explainingShare = 0.5

const isHeldUp = ({ loopMs, totalUs }: SlowCallOverview): boolean => loopMs * 1000 >= totalUs * explainingShare

const columnsAt = (nowMs: number): Column<SlowCallOverview>[] => [
  { title: 'WHEN', value: ({ at }) => `${formatDuration(Math.max(0, nowMs - at / 1000))} ago`, right: true },
  { title: 'TASK', value: ({ task }) => task },
  { title: 'TOTAL ms', value: ({ totalUs }) => formatMs(totalUs), right: true },
  { title: `${phaseTitles.backlog} ms`, value: ({ us }) => formatMs(us.backlog), right: true },
  { title: `${phaseTitles.queue} ms`, value: ({ us }) => formatMs(us.queue), right: true },
  { title: `${phaseTitles.exec} ms`, value: ({ us }) => formatMs(us.exec), right: true },
  {
    title: 'LOOP ms',
    value: ({ loopMs }) => loopMs || '-',
    right: true,
    style: call => (isHeldUp(call) ? 'yellow' : undefined),
  },
  {
    title: 'OUTCOME',
    value: ({ code }) => code ?? 'ok',
  },
  { title: 'WORKER', value: ({ worker }) => shortId(worker), rank: 2 },
  { title: 'FROM', value: ({ from }) => from ?? '-', rank: 3 },
  { title: 'ID', value: ({ id }) => id, rank: 1 },
]

export const slowCommand: Command = {
  name: 'slow',
  usage: 'slow [part of a name]',
  summary: 'show the slowest calls and what each waited for',
  about: [
    'Shows the slowest calls of the last five minutes, slowest first: when each ended, its total time, and how long ' +
      'it waited in Redis (BACKLOG), waited in the worker until its handler started (QUEUE WAIT), and ran (EXEC). A ' +
      'worker keeps the ten slowest calls of each task.',
    'LOOP is the longest time that the event loop of the worker was blocked during the call. If it is most of the ' +
      'total, a handler computed without an await: another handler if QUEUE WAIT is long, this one if EXEC is long. A ' +
      'long BACKLOG alone means that all slots were busy.',
  ],
  arity: { min: 0, max: 1 },
  takesTasks: true,
  options: [limitOption, jsonOption],
  examples: [
    { line: 'pshub slow', about: 'of all tasks' },
    { line: 'pshub slow resize_image:1.0', about: 'of one' },
    {
      line: "pshub slow --json | jq '.[] | select(.loopMs > 100) | .task' | sort | uniq -c",
      about: 'delayed by a blocked loop',
    },
  ],
  run: invocation =>
    showCalls(
      { command: slowCommand, read: readSlowCalls, columnsAt, none: 'took 1 ms or longer in the last 5 minutes.' },
      invocation,
    ),
}
