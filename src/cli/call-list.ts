import { nowMsOf } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import { type Keys, makeKeys } from '../wire/keys.ts'
import { settingsOf } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { limitOf } from './limit.ts'
import { printable } from './printable.ts'
import { withRedis } from './redis-session.ts'
import { type Column, writeTable } from './table.ts'

/** A list of single calls that workers keep, by whose task they can be chosen. */
interface CallList<Row extends { task: string }> {
  command: Command
  read(client: Redis, keys: Keys): Promise<Row[]>
  /** @param nowMs by the clock of Redis, which is the one that rows have their times from */
  columnsAt(nowMs: number): Column<Row>[]
  /** What follows 'No call' where there is none. */
  none: string
}

/** Shows the first rows of a list, of all tasks or of those that have a text in their names. */
export const showCalls = async <Row extends { task: string }>(
  { command, read, columnsAt, none }: CallList<Row>,
  invocation: Invocation,
): Promise<number> => {
  const { positionals, flags, output } = invocation
  const settings = settingsOf('hub', command, invocation, 'silent')
  const limit = limitOf(flags.limit, command.name)
  const { rows, nowMs } = await withRedis(settings, async connection => {
    const keys = makeKeys(settings.namespace)
    const all = await connection.send(client => read(client, keys))
    return { rows: all, nowMs: await connection.send(client => nowMsOf(client, keys.stats)) }
  })
  const [wanted] = positionals
  const matching = rows.filter(({ task }) => wanted === undefined || task.includes(wanted))
  const shown = matching.slice(0, limit)
  if (flags.json !== undefined) output.json(shown)
  else if (shown.length > 0) {
    writeTable(output.out, columnsAt(nowMs), shown)
    const more = matching.length - shown.length
    if (more > 0) output.err.line(`${more} more: --limit ${matching.length}, or the name of a task.`)
  } else {
    const what = wanted === undefined ? 'No call' : `No call of a task with '${printable(wanted)}' in its name`
    output.err.line(`${what} ${none} For current figures: pshub tasks`)
  }
  return exitCodes.ok
}
