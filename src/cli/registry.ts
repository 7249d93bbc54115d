import type { Settings } from '../config.ts'
import { makeKeys } from '../keys.ts'
import { type Overview, readOverview } from '../overview.ts'
import { withRedis } from './redis-session.ts'

/** Reads all there is to see, over a connection of its own. */
export const readRegistry = (settings: Readonly<Settings>): Promise<Overview> =>
  withRedis(settings, connection => connection.send(client => readOverview(client, makeKeys(settings.namespace))))
