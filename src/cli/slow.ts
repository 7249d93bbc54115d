import { Catalogue } from '../catalogue.ts'
import { makeKeys } from '../keys.ts'
import { readSlowCalls, type SlowCallOverview } from '../overview.ts'
import { settingsOf } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { formatDuration } from './duration.ts'
import { exitCodes } from './exit-codes.ts'
import { formatMs, phaseTitles } from './figures.ts'
import { limitOf, limitOption } from './limit.ts'
import { jsonOption } from './options.ts'
import { printable } from './printable.ts'
import { withRedis } from './redis-session.ts'
import { type Column, writeTable } from './table.ts'
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
    style: ({ code }) => (code === undefined ? undefined : 'red'),
  },
  { title: 'WORKER', value: ({ worker }) => shortId(worker), rank: 2 },
  { title: 'FROM', value: ({ from }) => from ?? '-', rank: 3 },
  { title: 'ID', value: ({ id }) => id, rank: 1 },
]

const run = async (invocation: Invocation): Promise<number> => {
  const { positionals, flags, output } = invocation
  const settings = settingsOf('hub', slowCommand, invocation, 'silent')
  const limit = limitOf(flags.limit, 'slow')
  const { calls, nowMs } = await withRedis(settings, async connection => {
    const all = await connection.send(client => readSlowCalls(client, new Catalogue(makeKeys(settings.namespace))))
    const [seconds, micros] = await connection.send(client => client.time())
    return { calls: all, nowMs: Number(seconds) * 1000 + Number(micros) / 1000 }
  })
  const [wanted] = positionals
  const matching = calls.filter(({ task }) => wanted === undefined || task.includes(wanted))
  const shown = matching.slice(0, limit)
  if (flags.json !== undefined) output.json(shown)
  else if (shown.length > 0) {
    writeTable(output.out, columnsAt(nowMs), shown)
    const more = matching.length - shown.length
    if (more > 0) output.err.line(`${more} more: --limit ${matching.length}, or the name of a task.`)
  } else {
    const what = wanted === undefined ? 'No call' : `No call of a task with '${printable(wanted)}' in its name`
    output.err.line(`${what} took 1 ms or longer in the last 5 minutes. How they fare: pshub tasks`)
  }
  return exitCodes.ok
}

export const slowCommand: Command = {
  name: 'slow',
  usage: 'slow [part of a name]',
  summary: 'show the slowest calls, and what each waited for',
  about: [
    'Shows the slowest calls of the last five minutes, slowest first: when each ended, how long it took in all, and of that ' +
      'how long it waited in Redis (BACKLOG), in the worker before its handler was started (QUEUE WAIT), and ran (EXEC). A ' +
      'worker keeps the ten slowest of each of its tasks.',
    "LOOP is the longest time for which the worker's event loop stood still meanwhile. Where that is most of the total, a handler " +
      'that computes without an await held this call up: another one when it was QUEUE WAIT, or this one when it was EXEC. A ' +
      'long BACKLOG without it means that all slots were busy.',
  ],
  arity: { min: 0, max: 1 },
  options: [limitOption, jsonOption],
  examples: [
    { line: 'pshub slow', about: 'of all tasks' },
    { line: 'pshub slow resize_image:1.0', about: 'of one' },
    {
      line: "pshub slow --json | jq '.[] | select(.loopMs > 100) | .task' | sort | uniq -c",
      about: 'held up by a blocked loop',
    },
  ],
  run,
}
