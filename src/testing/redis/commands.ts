import { commandsOfHashes } from './commands-of-hashes.ts'
import { commandsOfKeys } from './commands-of-keys.ts'
import { commandsOfLists } from './commands-of-lists.ts'
import { commandsOfSortedSets } from './commands-of-sorted-sets.ts'
import type { Commands, Keyspace, Run } from './keyspace.ts'
import { RedisError, type Reply } from './reply.ts'

/** Whole seconds and the microseconds behind them. */
const time: Run = keys => {
  const us = Math.floor(keys.nowMs() * 1000)
  return [String(Math.floor(us / 1e6)), String(us % 1e6)]
}

/** What a function may run, too: it neither waits nor is about a connection. */
const commands: Commands = {
  ...commandsOfKeys,
  ...commandsOfLists,
  ...commandsOfHashes,
  ...commandsOfSortedSets,
  time: [0, time],
}

/** @throws RedisError */
export const runCommand = (keys: Keyspace, [name = '', ...words]: string[]): Reply => {
  const [leastWords, run] = (Object.hasOwn(commands, name.toLowerCase()) && commands[name.toLowerCase()]) || []
  if (!run) throw new RedisError(`ERR unknown command '${name}': the Redis of pshub/testing knows what pshub needs`)
  if (words.length < leastWords!)
    throw new RedisError(`ERR wrong number of arguments for '${name.toLowerCase()}' command`)
  return run(keys, words)
}
