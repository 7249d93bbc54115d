import { command } from '../redis/client.ts'
import type { Redis } from '../redis/connection.ts'
import type { Keys } from '../wire/keys.ts'
import { takenMs } from '../wire/stream.ts'

/** A stream and how many of its chunks its caller has taken. */
export interface Taking {
  readonly id: string
  readonly taken: number
}

/** Says what was taken, all of it anew: one that is lost is made up for by the next. */
export const sayTaken = async (client: Redis, keys: Keys, hubId: string, takings: readonly Taking[]): Promise<void> => {
  await Promise.all(takings.map(({ id, taken }) => command(client, 'set', keys.taken(hubId, id), taken, 'PX', takenMs)))
}

export const forgetTaken = async (client: Redis, keys: Keys, hubId: string, ids: readonly string[]): Promise<void> => {
  await Promise.all(ids.map(id => command(client, 'unlink', keys.taken(hubId, id))))
}
