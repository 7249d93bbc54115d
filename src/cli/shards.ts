import { Catalogue } from '../catalogue/catalogue.ts'
import { readJobCounts } from '../jobs/lists/listing.ts'
import { Resharding, type ShardsLeft } from '../queue/resharding.ts'
import { type Shards, servedShards } from '../queue/shards.ts'
import { command } from '../redis/client.ts'
import type { Connection } from '../redis/connection.ts'
import { monotonicMs } from '../wire/clock.ts'
import { makeKeys } from '../wire/keys.ts'
import { settingsOf, UsageError } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { jsonOption } from './options.ts'
import type { Output } from './output.ts'
import { withRedis } from './redis-session.ts'
import { onStopSignals } from './stop-signals.ts'
import { type Column, writeTable } from './table.ts'

const run = async (invocation: Invocation): Promise<number> => {
  const { positionals, flags, output } = invocation
  const settings = settingsOf('hub', shardsCommand, invocation, 'silent')
  const [queue, wanted] = positionals as [string, string?]
  const count = countOf(wanted)
  const stopping = new AbortController()
  const end = onStopSignals(
    () => stopping.abort(),
    () => process.exit(exitCodes.failed),
  )
  try {
    return await withRedis(settings, async connection => {
      const resharding = new Resharding(connection, makeKeys(settings.namespace), queue)
      if (count !== undefined) {
        const changed = await resharding.change(count)
        if (changed.earlier) {
          output.err.line(`${queue} has ${shown(changed)} now. Waiting until the old layout is empty ...`)
          await resharding.settle(
            teller(line => output.err.line(line)),
            stopping.signal,
          )
        }
      }
      const shards = await resharding.read()
      const rows = await readRows(connection, settings.namespace, shards)
      if (flags.json !== undefined) output.json({ queue, ...shards, places: rows })
      else show(output, queue, shards, rows)
      return stopping.signal.aborted ? exitCodes.failed : exitCodes.ok
    })
  } finally {
    end()
  }
}

/** @throws UsageError */
const countOf = (text: string | undefined): number | undefined => {
  if (text === undefined) return undefined
  if (/^[1-9]\d{0,2}$/.test(text)) return Number(text)
  throw new UsageError(`The number of shards is a whole number from 1 to 256; it is '${text}'.`, 'shards')
}

const sayMs = 3000

/** Says what is left, when that has changed. */
const teller = (say: (line: string) => void) => {
  let last = ''
  let saidAt = Number.NEGATIVE_INFINITY
  return ({ keys, waiting, dead }: ShardsLeft) => {
    const parts = [
      ...(keys > 0 ? [`keys in their old shard: ${keys}`] : []),
      ...(waiting > 0 ? [`calls and jobs in shards to be removed: ${waiting}`] : []),
      ...(dead > 0 ? [`dead jobs in them: ${dead} (retry or delete them: pshub dead)`] : []),
    ]
    const line =
      parts.length > 0
        ? `Remaining: ${parts.join('; ')}.`
        : 'The old layout is empty; waiting about half a minute until every hub knows the new number.'
    if (line === last || (parts.length > 0 && monotonicMs() - saidAt < sayMs)) return
    say(line)
    last = line
    saidAt = monotonicMs()
  }
}

interface Row {
  place: string
  node: string | undefined
  isLeaving: boolean
  calls: number
  waiting: number | undefined
  scheduled: number | undefined
  retrying: number | undefined
  dead: number | undefined
}

const readRows = (connection: Connection, namespace: string, shards: Shards): Promise<Row[]> => {
  const keys = makeKeys(namespace)
  const catalogue = new Catalogue(keys)
  return Promise.all(
    servedShards(shards).map(async place => {
      const { calls: list, jobs } = keys.queue(place)
      const [calls, { queue: _, ...counts }] = await connection.send(client =>
        Promise.all([command(client, 'llen', list), readJobCounts(client, catalogue, keys, place)]),
      )
      const isLeaving = !shards.names.includes(place)
      return { place, node: connection.addressOf(jobs), isLeaving, calls: Number(calls), ...counts }
    }),
  )
}

const columns: Column<Row>[] = [
  { title: 'PLACE', value: ({ place }) => place },
  { title: 'NODE', value: ({ node }) => node ?? '-', rank: 1 },
  { title: 'CALLS', value: ({ calls }) => calls, right: true },
  { title: 'JOBS', value: ({ waiting }) => waiting ?? '?', right: true },
  { title: 'SCHEDULED', value: ({ scheduled }) => scheduled ?? '?', right: true, rank: 3 },
  { title: 'RETRYING', value: ({ retrying }) => retrying ?? '?', right: true, rank: 4 },
  { title: 'DEAD', value: ({ dead }) => dead ?? '?', right: true },
  { title: 'STATE', value: ({ isLeaving }) => (isLeaving ? 'to go' : 'open'), rank: 2 },
]

const show = (output: Output, queue: string, shards: Shards, rows: Row[]): void => {
  const again = shards.earlier
    ? ` The change is not finished; to finish it: pshub shards ${queue} ${shards.names.length}`
    : ''
  output.out.line(`${queue} has ${shown(shards)}.${again}`)
  writeTable(output.out, columns, rows)
}

const shown = ({ names }: Shards): string => (names.length === 1 ? 'no shards' : `${names.length} shards`)

export const shardsCommand: Command = {
  name: 'shards',
  usage: 'shards <queue> [number]',
  summary: 'spread a queue over the nodes of a Cluster',
  about: [
    'Without shards a queue lies on one node of a Cluster. With shards it is spread over several: the queue itself, ' +
      'shard.2.<queue> and so on, named so that they lie on as many nodes as possible. Workers of the queue serve all ' +
      'shards with their slots. Hubs send calls to the shard with fewer calls in flight, and jobs to each in turn. The ' +
      'key of a job determines its shard, so keyed jobs keep their order. Unique and merged jobs stay in the queue itself.',
    'The number is stored in Redis. You can raise or lower it at any time, while work waits: no job is lost, run ' +
      'twice or reordered. The command waits until the old layout is empty and every hub knows the new number, at ' +
      'least half a minute. If you stop it early, run it again to finish. Without a number it shows the shards.',
    'Changing the number needs the rights of a worker (pshub check --for worker), showing it those of view.',
  ],
  arity: { min: 1, max: 2, missing: 'the name of a queue, as in: pshub shards mail 3' },
  options: [jsonOption],
  examples: [
    { line: 'pshub shards mail', about: 'its shards, and their backlog' },
    { line: 'pshub shards mail 3', about: 'one for each master of a Cluster' },
    { line: 'pshub shards mail 1', about: 'remove the shards' },
  ],
  exitCodes: {
    0: 'done, and the old layout is empty',
    1: 'stopped before that, or Redis rejected: this user lacks the right',
    2: 'the command line is wrong, or the queue is being changed by somebody else',
    3: 'Redis could not be reached',
  },
  run,
}
