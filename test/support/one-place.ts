import type { Connection } from '../../src/redis/connection.ts'

/** A stand-in for a connection to one server: everything lives at the same place. */
export const atOnePlace = (connection: object): Connection => {
  const whole = Object.assign(connection, { isCluster: false, at: () => whole, addressOf: () => undefined })
  return whole as unknown as Connection
}
