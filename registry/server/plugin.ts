import type { FastifyPluginAsync } from 'fastify'
import { Hub, type HubOptions, version } from 'pshub'
import type { Session } from '../contract.ts'
import { HistoryStore } from './history.ts'
import { pageRoutes } from './page-routes.ts'
import { readRoutes } from './read-routes.ts'
import { Readings } from './readings.ts'

export interface RegistryOptions {
  /** A hub of your own, or what to make one with. The registry closes only what it made. */
  hub?: Hub | HubOptions
}

/**
 * The registry as a fastify plugin: register it in a server of your own, with fastify's `prefix` as its base path.
 * @throws ConfigError
 */
export const registry: FastifyPluginAsync<RegistryOptions> = async (app, options) => {
  const isOwn = !(options.hub instanceof Hub)
  const hub = options.hub instanceof Hub ? options.hub : new Hub({ name: 'registry', ...options.hub })
  const history = new HistoryStore()
  const readings = new Readings(hub, history)
  const session: Session = { role: 'admin', readOnly: false, namespace: 'pshub', version }
  app.addHook('onReady', async () => readings.start())
  app.addHook('onClose', async () => {
    readings.close()
    if (isOwn) await hub.close()
  })
  await app.register(readRoutes, { hub, readings, history, session })
  await app.register(pageRoutes)
}
