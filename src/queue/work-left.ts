import { command, nowMsOf } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import type { QueueKeys } from '../wire/keys.ts'

/** All that a place has of calls and jobs. */
export interface WorkLeft {
  /** What waits: to be taken, for its time, for its next try, or behind others of its key. */
  waiting: number
  /** What workers hold, those too whose leases have ended. */
  held: number
}

const dayMs = 86_400_000

export const workIn = async (client: Redis, keys: QueueKeys): Promise<WorkLeft> => {
  const { calls, jobs, jobsHigh, jobsLow, scheduled, retries, later, lined, leases, held } = keys
  const nowMs = await nowMsOf(client, leases)
  const workers = (await command(client, 'zrangebyscore', leases, '-inf', nowMs + dayMs)) as string[]
  const [ofKeys, holdings, counts] = await Promise.all([
    command(client, 'hvals', lined) as Promise<string[]>,
    Promise.all(workers.map(worker => command(client, 'hlen', held(worker)))),
    Promise.all([
      ...[calls, jobs, jobsHigh, jobsLow].map(list => command(client, 'llen', list)),
      ...[scheduled, retries, later].map(set => command(client, 'zcard', set)),
    ]),
  ])
  return { waiting: sum([...counts, ...ofKeys]), held: sum(holdings) }
}

const sum = (counts: readonly unknown[]): number =>
  counts.reduce<number>((total, count) => total + Math.max(0, Number(count) || 0), 0)
