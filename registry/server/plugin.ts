import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import { ConfigError, Hub, type HubOptions, readSettings, type Settings, version } from 'pshub'
import type { Role, Session } from '../contract.ts'
import { addAccess } from './access.ts'
import { takeJson } from './body.ts'
import { addCookies, SessionCookie } from './cookies.ts'
import { Guard } from './guard.ts'
import { HistoryStore } from './history.ts'
import { makeLimits } from './limits.ts'
import { addPages } from './page-routes.ts'
import { readRoutes } from './read-routes.ts'
import { Readings } from './readings.ts'
import { sendError } from './refusal.ts'
import { sessionRoutes } from './session-routes.ts'
import { TokenBook } from './tokens.ts'

type Setup = Pick<
  Settings,
  'viewToken' | 'runToken' | 'adminToken' | 'readOnly' | 'allowedHosts' | 'behindProxy' | 'runTasks' | 'maxBodyBytes'
>

/** At least one token is needed; what is left out comes from the environment or is the default. */
export interface RegistryOptions extends Partial<Setup> {
  /** A hub of your own, or what to make one with. The registry closes only what it made. */
  hub?: Hub | HubOptions
}

/** Adds it to an instance of its own. `ownsServer`: what leads nowhere outside of the prefix is the registry's to answer too. */
export const addRegistry = async (
  app: FastifyInstance,
  { hub: given, ...options }: RegistryOptions,
  ownsServer: boolean,
): Promise<void> => {
  const setup = readSettings('registry', { options: { ...options }, env: process.env })
  const tokens = new TokenBook({ view: setup.viewToken, run: setup.runToken, admin: setup.adminToken })
  const hub = given instanceof Hub ? given : new Hub({ name: 'registry', ...given })
  if (setup.maxBodyBytes > hub.maxPayloadBytes)
    throw new ConfigError(
      `maxBodyBytes is ${setup.maxBodyBytes}, but the hub sends no more than maxPayloadBytes, ${hub.maxPayloadBytes}.`,
    )
  const history = new HistoryStore()
  const readings = new Readings(hub, history)
  app.addHook('onReady', async () => readings.start())
  app.addHook('onClose', async () => {
    readings.close()
    if (hub !== given) await hub.close()
  })
  const sessionOf = (role: Role): Session => ({ role, readOnly: setup.readOnly, namespace: hub.namespace, version })
  await addCookies(app)
  const access = {
    tokens,
    cookie: new SessionCookie(app, setup.behindProxy),
    guard: new Guard(setup),
    limits: await makeLimits(app),
    readOnly: setup.readOnly,
  }
  app.setErrorHandler(sendError)
  takeJson(app, setup.maxBodyBytes)
  addAccess(app, access)
  await app.register(sessionRoutes, { ...access, sessionOf })
  await app.register(readRoutes, { hub, readings, history })
  addPages(app, { answersUnknown: ownsServer || app.prefix !== '' })
}

/**
 * The registry as a fastify plugin: register it in a server of your own, with fastify's `prefix` as its base path. What it adds
 * holds for its own routes only.
 * @throws ConfigError
 */
export const registry: FastifyPluginAsync<RegistryOptions> = async (app, options) => {
  const { prefix: _, ...own } = options as RegistryOptions & { prefix?: string }
  await addRegistry(app, own, false)
}
