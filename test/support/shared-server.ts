import { Redis } from 'ioredis'
import { startServer } from '../../tools/redis-server.mjs'

export type Server = Awaited<ReturnType<typeof startServer>>

interface Shared {
  server: Server
  /** Its settings when it was new, as CONFIG GET tells them. */
  settings: Map<string, string>
  isGone: boolean
}

let shared: Shared | undefined

const settingsOf = async (redis: Redis) => {
  const told = (await redis.config('GET', '*')) as string[] | Record<string, string>
  const pairs = Array.isArray(told)
    ? told.flatMap((name, at) => (at % 2 === 0 ? [[name, told[at + 1]!] as const] : []))
    : Object.entries(told)
  return new Map(pairs)
}

const start = async (): Promise<Shared> => {
  const server = await startServer()
  const redis = new Redis(server.url)
  const started = { server, settings: await settingsOf(redis), isGone: false }
  redis.disconnect()
  void server.exited.then(() => (started.isGone = true))
  return started
}

/** As new: no keys, functions, users or statistics, and the settings that it started with. */
const clean = async ({ server, settings }: Shared) => {
  const redis = new Redis(server.url)
  await redis.flushall()
  for (const words of [
    ['FUNCTION', 'FLUSH'],
    ['ACL', 'LOG', 'RESET'],
    ['CONFIG', 'RESETSTAT'],
    ['SLOWLOG', 'RESET'],
    ['CLIENT', 'UNPAUSE'],
  ])
    await redis.call(...(words as [string, string]))
  const users = (await redis.call('ACL', 'USERS')) as string[]
  for (const user of users.filter(name => name !== 'default')) await redis.call('ACL', 'DELUSER', user)
  const now = await settingsOf(redis)
  for (const [name, value] of settings) if (now.get(name) !== value) await redis.config('SET', name, value)
  redis.disconnect()
}

/**
 * The redis-server of this test process, as if it were new: a file of tests gets it alone, because files of one process run one after
 * another. One for each file would be a tenth of a second each, 200 times. A file may stop it; the next file gets another one.
 */
export const sharedServer = async (): Promise<Server> => {
  if (shared && !shared.isGone) await clean(shared)
  else {
    // Test processes are ended by SIGTERM, which alone would end this one without the exit handlers that stop the server.
    if (!shared) process.once('SIGTERM', () => process.exit(143))
    shared = await start()
  }
  return shared.server
}
