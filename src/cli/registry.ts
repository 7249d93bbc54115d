import { Catalogue } from '../catalogue.ts'
import type { Settings } from '../config.ts'
import { makeKeys } from '../keys.ts'
import { type Overview, readOverview } from '../overview.ts'
import { withRedis } from './redis-session.ts'

/** The overview, and when it was read by the clock of Redis (milliseconds), which is the one its times are in. */
export const readRegistry = (settings: Readonly<Settings>): Promise<{ overview: Overview; nowMs: number }> => {
  const keys = makeKeys(settings.namespace)
  return withRedis(settings, async connection => {
    const overview = await connection.send(client => readOverview(client, new Catalogue(keys), keys))
    const [seconds, micros] = await connection.send(client => client.time())
    return { overview, nowMs: Number(seconds) * 1000 + Number(micros) / 1000 }
  })
}
