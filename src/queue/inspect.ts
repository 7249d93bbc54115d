import { command } from '../redis/client.ts'
import type { Connection, Redis } from '../redis/connection.ts'
import type { QueueKeys } from '../wire/keys.ts'

/** Workers look with each beat; a thread beside a blocked loop a little later. */
export const askedForMs = 5000
export const shownForMs = 10_000
/** Waits are short, so that a connection that broke is noticed. */
const waitSeconds = 1

/** Asks a worker what it is doing. Undefined when it does not answer in time. */
export const askWorker = async (
  connection: Connection,
  { inspect, shown }: QueueKeys,
  workerId: string,
  ticket: string,
): Promise<string | undefined> => {
  await connection.send(client => command(client, 'set', inspect(workerId), ticket, 'PX', askedForMs))
  const until = performance.now() + askedForMs
  while (performance.now() < until) {
    const answer = await connection.send(client => command(client, 'blpop', shown(ticket), waitSeconds))
    if (Array.isArray(answer)) return String(answer[1])
  }
  await connection.send(client => command(client, 'unlink', inspect(workerId)))
  return undefined
}

/** Answers who asked. Nobody may wait any more: then the answer goes by itself. */
export const showTo = async (client: Redis, { shown }: QueueKeys, ticket: string, text: string): Promise<void> => {
  const pushed = command(client, 'rpush', shown(ticket), text)
  const expires = command(client, 'pexpire', shown(ticket), shownForMs)
  await Promise.all([pushed, expires])
}
