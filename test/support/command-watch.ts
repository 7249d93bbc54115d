import type { Redis } from 'ioredis'

/** The keys of a command behind its first one. */
const keysBehind = (command: string, [, ...words]: string[]): string[] => {
  if (command.endsWith('LMOVE')) return words.slice(0, 1)
  if (command === 'BLPOP') return words.slice(0, -1)
  return command === 'EXISTS' ? words : []
}

/** What each Redis user sends, seen from outside, and what the functions run that it calls: `user COMMAND key`. */
export const watchCommands = async (redis: Redis, shapeOf: (key: string) => string) => {
  const userOf = new Map<string, string>()
  const seen: { address: string; command: string; key: string | undefined }[] = []
  // Connections may be short: who is who is asked again and again.
  const learn = async () => {
    const clients = String(await redis.call('CLIENT', 'LIST'))
    for (const [, address, user] of clients.matchAll(/ addr=(\S+) .* user=(\S+)/g)) userOf.set(address!, user!)
  }
  const monitor = await redis.monitor()
  monitor.on('error', () => undefined)
  /** Whose function runs: what it does comes right behind it. */
  let caller = ''
  monitor.on('monitor', (_: string, [name, ...words]: string[], source: string) => {
    const address = source === 'lua' ? caller : source
    const [first] = words
    const command = name!.toUpperCase()
    // HELLO, which logs in, needs no right.
    if (command === 'HELLO') return
    if (command === 'FCALL') caller = source
    if (!userOf.has(address)) void learn()
    const isKeyless = ['FCALL', 'TIME', 'INFO', 'SCAN', 'WAIT'].includes(command)
    if (command === 'CLIENT' || command === 'FUNCTION')
      seen.push({ address, command: `${command}|${first!.toUpperCase()}`, key: undefined })
    else seen.push({ address, command, key: isKeyless ? undefined : first })
    for (const key of keysBehind(command, words)) seen.push({ address, command, key })
  })
  return {
    /** Ends the watch. */
    stop: async (): Promise<Set<string>> => {
      await learn()
      monitor.disconnect()
      return new Set(
        seen.map(({ address, command, key }) =>
          [userOf.get(address), command, ...(key === undefined ? [] : [shapeOf(key)])].join(' '),
        ),
      )
    },
  }
}
