import { type Overview, readOverview } from '../catalogue/overview.ts'
import type { Settings } from '../settings/read.ts'
import { makeKeys } from '../wire/keys.ts'
import { withRedis } from './redis-session.ts'

/** Reads all there is to see, over a connection of its own. */
export const readRegistry = (settings: Readonly<Settings>): Promise<Overview> =>
  withRedis(settings, connection => connection.send(client => readOverview(client, makeKeys(settings.namespace))))
