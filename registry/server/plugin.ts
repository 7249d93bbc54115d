import type { FastifyInstance, FastifyPluginAsync } from 'fastify'
import {
  ConfigError,
  Hub,
  type HubOptions,
  measuringSettings,
  parseEnvironment,
  readSettings,
  type Settings,
  stringifyExact,
  version,
} from 'pshub'
import type { Session } from '../contract.ts'
import { addAccess } from './access.ts'
import { refusalLog } from './audit.ts'
import { takeJson } from './body.ts'
import { callRoutes } from './call-routes.ts'
import { addCookies, SessionCookie } from './cookies.ts'
import { enqueueRoutes } from './enqueue-routes.ts'
import { Guard } from './guard.ts'
import { HistoryStore } from './history.ts'
import { jobRoutes } from './job-routes.ts'
import { KeptHistory } from './kept-history.ts'
import { keyRoutes } from './key-routes.ts'
import { OpenAnswers } from './last-words.ts'
import { makeLimits } from './limits.ts'
import { liveRoutes } from './live-routes.ts'
import { Masks } from './masks.ts'
import { mcpRoutes } from './mcp/routes.ts'
import { addPages } from './page-routes.ts'
import { Provider } from './provider.ts'
import { providerRoutes } from './provider-routes.ts'
import { Proxies } from './proxies.ts'
import { ProxyUsers } from './proxy-users.ts'
import { queueRoutes } from './queue-routes.ts'
import { readRoutes } from './read-routes.ts'
import { Readings } from './readings.ts'
import { sendError } from './refusal.ts'
import { Rules } from './rules.ts'
import { scheduleRoutes } from './schedule-routes.ts'
import { sessionRoutes } from './session-routes.ts'
import { Sessions } from './sessions.ts'
import { templateRoutes } from './template-routes.ts'
import { type Identity, TokenBook } from './tokens.ts'

type Setup = Pick<
  Settings,
  | 'environment'
  | 'viewToken'
  | 'runToken'
  | 'adminToken'
  | 'readOnly'
  | 'allowedHosts'
  | 'behindProxy'
  | 'runTasks'
  | 'access'
  | 'hideValues'
  | 'userHeader'
  | 'groupsHeader'
  | 'oidcIssuer'
  | 'oidcClientId'
  | 'oidcClientSecret'
  | 'oidcScopes'
  | 'oidcUserClaim'
  | 'oidcGroupsClaim'
  | 'maxBodyBytes'
  | 'maxRunsPerSecond'
>

/** At least one token is needed; what is left out comes from the environment or is the default. */
export interface RegistryOptions extends Partial<Setup>, Omit<HubOptions, 'name'> {
  /** A hub of your own instead of what `redis` and the like say, or more to make one with. Only what was made is closed. */
  hub?: Hub | HubOptions
  /** What every page shows at its top while this gives a text; asked with each reading. Default nothing. */
  notice?: () => string | undefined
}

const hubSettings = ['redis', 'namespace', 'maxPayloadBytes', 'maxBacklog', ...measuringSettings] as const

export const makeHub = (setup: Readonly<Settings>, more: HubOptions | undefined): Hub => {
  const options = Object.fromEntries(hubSettings.map(name => [name, setup[name]]))
  return new Hub({ name: 'registry', ...options, ...more, bigint: 'exact' })
}

/** @throws ConfigError where users could come that nobody, or everybody, could say they are */
const checkUsers = (setup: Readonly<Settings>): void => {
  const { userHeader, groupsHeader, oidcIssuer, behindProxy, access } = setup
  if (groupsHeader !== undefined && userHeader === undefined)
    throw new ConfigError('groupsHeader needs userHeader: groups belong to a user.')
  if (userHeader !== undefined && behindProxy.length === 0)
    throw new ConfigError('userHeader needs behindProxy, the addresses of the trusted proxies.')
  if ((userHeader ?? oidcIssuer) !== undefined && access?.roles === undefined)
    throw new ConfigError(
      'userHeader and oidcIssuer need access, whose roles list the users and groups that may log in.',
    )
}

/** Adds it to an instance of its own. `ownsServer`: what leads nowhere outside of the prefix is the registry's to answer too. `code`: logs an admin in, once. */
export const addRegistry = async (
  app: FastifyInstance,
  { hub: given, notice = () => undefined, ...options }: RegistryOptions,
  ownsServer: boolean,
  code?: string,
): Promise<void> => {
  const setup = readSettings('registry', { options: { ...options }, env: process.env })
  const provider = await Provider.load(setup)
  checkUsers(setup)
  const hasUsers = provider !== undefined || setup.userHeader !== undefined
  const tokens = new TokenBook({ view: setup.viewToken, run: setup.runToken, admin: setup.adminToken }, hasUsers)
  if (code !== undefined) tokens.addCode(code, 'admin', Date.now())
  const hub = given instanceof Hub ? given : makeHub(setup, given)
  app.addHook('onClose', async () => {
    if (hub !== given) await hub.close()
  })
  if (setup.maxBodyBytes > hub.maxPayloadBytes)
    throw new ConfigError(
      `maxBodyBytes is ${setup.maxBodyBytes}, but the hub sends no more than maxPayloadBytes, ${hub.maxPayloadBytes}.`,
    )
  const history = new HistoryStore()
  const kept = new KeptHistory(history, hub, app.log)
  const readings = new Readings(hub, kept)
  app.addHook('onReady', async () => {
    await kept.restore()
    readings.start()
  })
  app.addHook('onClose', async () => readings.close())
  const environment = parseEnvironment(setup.environment ?? '')
  const sessionOf = ({ role, user, by }: Identity): Session => ({
    ...{ role, readOnly: setup.readOnly, namespace: hub.namespace, version },
    ...(user && by ? { user: user.name, by } : {}),
    ...(environment && { environment }),
  })
  await addCookies(app)
  const proxies = new Proxies(setup.behindProxy)
  const rules = new Rules(setup.runTasks, setup.access)
  const secret = provider && [setup.oidcIssuer, setup.oidcClientId, setup.oidcClientSecret].join(' ')
  const sessions = new Sessions({ tokens, rules, secret }, hub.sessions, app.log)
  app.addHook('onClose', async () => sessions.close())
  const access = {
    tokens,
    sessions,
    proxies,
    cookie: new SessionCookie(app, proxies),
    guard: new Guard({ ...setup, proxies }),
    limits: await makeLimits(app, setup.maxRunsPerSecond),
    rules,
    proxyUsers: new ProxyUsers(setup, proxies, rules),
    readOnly: setup.readOnly,
  }
  const noteRefusal = refusalLog(app)
  app.setErrorHandler((thrown, request, reply) => {
    noteRefusal(request, thrown)
    return sendError(thrown, request, reply)
  })
  takeJson(app, setup.maxBodyBytes)
  app.setReplySerializer(payload => stringifyExact(payload))
  addAccess(app, access)
  const ways = { token: tokens.areThere, provider: provider !== undefined }
  await app.register(sessionRoutes, { ...access, sessionOf, ways })
  if (provider && secret !== undefined) {
    const begunCookie = new SessionCookie(app, proxies, { name: 'begun', sameSite: 'lax' })
    await app.register(providerRoutes, { ...access, provider, secret, begunCookie })
  }
  const masks = new Masks(readings, setup.hideValues === 'all')
  await app.register(readRoutes, { hub, readings, history, proxies })
  await app.register(liveRoutes, { readings, history, sessions, notice })
  const open = new OpenAnswers()
  app.addHook('preClose', () => open.stop())
  await app.register(callRoutes, { hub, limits: access.limits, open })
  const isNamed = (task: string) => setup.runTasks.includes(task)
  await app.register(mcpRoutes, { hub, readings, limits: access.limits, open, isNamed })
  await app.register(queueRoutes, { hub })
  await app.register(jobRoutes, { hub, masks })
  await app.register(keyRoutes, { hub, masks })
  await app.register(enqueueRoutes, { hub, limits: access.limits })
  await app.register(scheduleRoutes, { hub, readings, masks })
  await app.register(templateRoutes, { hub, limits: access.limits, masks })
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
