import { command, near } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import { blockSeconds } from '../redis/connections.ts'
import type { QueueKeys } from '../wire/keys.ts'

/** A token of a bell, and which queue's, counted as they were given. */
export interface Rung {
  queue: number
  bell: 'bell' | 'jobBell' | 'dueBell'
}

/**
 * Waits until a bell of these queues rings, and takes its token: those of calls go before those of jobs, which are listened to where
 * they are wanted. Undefined when none did for two seconds, or the wait was ended.
 */
export const waitForBells = async (
  client: Redis,
  queues: readonly { keys: QueueKeys; wantsJobs: boolean }[],
): Promise<Rung | undefined> => {
  const kinds = ['bell', 'jobBell', 'dueBell'] as const
  const bells = kinds.flatMap(bell =>
    queues.flatMap(({ keys, wantsJobs }, queue) =>
      bell === 'bell' || wantsJobs ? [{ queue, bell, key: keys[bell] }] : [],
    ),
  )
  const keys = bells.map(({ key }) => key)
  const answer = (await command(client, 'blpop', ...keys, blockSeconds)) as [string, string] | null
  const rung = answer ? bells[keys.indexOf(answer[0])] : undefined
  return rung && { queue: rung.queue, bell: rung.bell }
}

/** Which bells of a queue have a token: there is work that nobody has been woken for. */
export const bellsOf = async (
  client: Redis,
  { bell, jobBell }: QueueKeys,
): Promise<{ bell: boolean; jobBell: boolean }> => {
  const [calls, jobs] = await Promise.all([command(client, 'llen', bell), command(client, 'llen', jobBell)])
  return { bell: Number(calls) > 0, jobBell: Number(jobs) > 0 }
}

/** The bell that stands for all of a queue's: they live in one place. */
export const bellKey = ({ bell }: QueueKeys): string => bell

const clientIds = new WeakMap<Redis, Promise<number | undefined>>()

/**
 * How Redis calls the connection that waits for a bell, for endWait(); undefined where it may not be asked. Asked once per connection, or `anew` ahead
 * of the wait that is sent next: so it is answered when that has arrived.
 */
export const clientIdOf = (client: Redis, bell: string, anew: boolean): Promise<number | undefined> => {
  const server = near(client, bell)
  let id = clientIds.get(server)
  if (!id || anew) {
    id = command(server, 'client', 'id').then(Number, () => undefined)
    clientIds.set(server, id)
  }
  return id
}

/** Ends a wait for bells early; does nothing when it is over. */
export const endWait = async (client: Redis, bell: string, clientId: number): Promise<void> => {
  await command(near(client, bell), 'client', 'unblock', clientId)
}
