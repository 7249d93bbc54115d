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
          output.err.line(`${queue} has ${shown(changed)} now. Waiting until nothing is left of how it was ...`)
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
      ...(keys > 0 ? [`keys where they were before: ${keys}`] : []),
      ...(waiting > 0 ? [`calls and jobs in shards that are to go: ${waiting}`] : []),
      ...(dead > 0 ? [`dead jobs there: ${dead} (have them tried again, or delete them: pshub dead)`] : []),
    ]
    const line =
      parts.length > 0
        ? `Left: ${parts.join('; ')}.`
        : 'Nothing is left; waiting until every hub has heard of it, some half a minute.'
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
    ? ` It is still being changed; this sees it to its end: pshub shards ${queue} ${shards.names.length}`
    : ''
  output.out.line(`${queue} has ${shown(shards)}.${again}`)
  writeTable(output.out, columns, rows)
}

const shown = ({ names }: Shards): string => (names.length === 1 ? 'one place, itself' : `${names.length} shards`)

export const shardsCommand: Command = {
  name: 'shards',
  usage: 'shards <queue> [number]',
  summary: 'spread a queue over several hash tags, on a Cluster over its nodes',
  about: [
    'A queue lies in one place: on a Cluster, on one node. Spread over shards it lies in several, which are queues of their own: the ' +
      'queue itself, and shard.2.<queue> and so on, named so that they lie on as many nodes as there are. Workers of the queue serve ' +
      'all of them with the slots that they have; hubs put calls where fewer are under way, and jobs in turn. Jobs with a key go by ' +
      'their key, and keep their order. Those that are unique, or merged, stay in the queue itself.',
    'The number is in Redis and can be changed at any time, up and down, while work waits: nothing is lost, run twice or run out of ' +
      'its order. The command waits until nothing is left of how it was, and every hub has heard of it: half a minute at least. Ended before, it ' +
      'goes on when it is run again. Without a number it shows what there is.',
    'To change it takes the rights of a worker (pshub check --for worker), to look those of view.',
  ],
  arity: { min: 1, max: 2, missing: 'the name of a queue, as in: pshub shards mail 3' },
  options: [jsonOption],
  examples: [
    { line: 'pshub shards mail', about: 'how it lies, and what waits where' },
    { line: 'pshub shards mail 3', about: 'one for each master of a Cluster' },
    { line: 'pshub shards mail 1', about: 'back to one place' },
  ],
  exitCodes: {
    0: 'it is as you want it, and nothing is left of how it was',
    1: 'it was ended before that, or Redis refused: this user lacks the right',
    2: 'the command line is wrong, or somebody else changes the queue too',
    3: 'Redis could not be reached',
  },
  run,
}
