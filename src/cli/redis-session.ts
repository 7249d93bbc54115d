import { Connection } from '../redis/connection.ts'
import { ConnectionLost, NotConnected } from '../redis/failures.ts'
import { explained } from '../redis/refusals.ts'
import type { Settings } from '../settings/read.ts'
import { RedisAway } from './redis-away.ts'

/** A person waits: a first failure is told at once, and silence after this long. */
const patienceMs = 1800

/**
 * Opens one connection for the time of `work`.
 * @throws RedisAway when there is none, or it breaks; an Error that says so when Redis refuses a command
 */
export const withRedis = async <T>(
  { redis: target }: Readonly<Settings>,
  work: (connection: Connection) => Promise<T>,
): Promise<T> => {
  const failed = new AbortController()
  const connection = new Connection({
    target,
    name: 'pshub-cli',
    stallMs: patienceMs,
    onDown: (reason, node) => {
      // One node of a Cluster may be away and all that is asked for be there.
      if (node === undefined) failed.abort(reason)
    },
  })
  const tooSlow = setTimeout(() => failed.abort(new Error(`no answer within ${patienceMs} ms`)), patienceMs)
  try {
    connection.open()
    await connection.whenReady(failed.signal)
    if (!connection.isReady) throw new RedisAway(target, (failed.signal.reason as Error).message)
    return await work(connection)
  } catch (error) {
    if (error instanceof ConnectionLost || error instanceof NotConnected) throw new RedisAway(target, error.message)
    if (error instanceof Error && error.name === 'ReplyError')
      throw new Error(`Redis rejected: ${explained(error.message)}.`)
    throw error
  } finally {
    clearTimeout(tooSlow)
    await connection.close()
  }
}
