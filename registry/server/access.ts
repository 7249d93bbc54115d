import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import type { Role } from '../contract.ts'
import type { SessionCookie } from './cookies.ts'
import { checkJson, type Guard, isSafe } from './guard.ts'
import { addressOf, type Limits } from './limits.ts'
import type { Proxies } from './proxies.ts'
import type { ProxyUsers } from './proxy-users.ts'
import { Refusal } from './refusal.ts'
import { securityHeaders, strictTransport } from './response-headers.ts'
import type { Rights, Rules } from './rules.ts'
import type { Sessions } from './sessions.ts'
import { type Identity, includes, type TokenBook } from './tokens.ts'
import { whenceOf } from './whence.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * Who may use a route of the registry: a role, or anybody: `page` for what other sites may lead to, `open` for the rest.
     * A route without it does not start.
     */
    registryAccess?: Role | 'page' | 'open'
  }
}

export interface AccessParts {
  tokens: TokenBook
  sessions: Sessions
  proxies: Proxies
  cookie: SessionCookie
  guard: Guard
  limits: Limits
  proxyUsers: ProxyUsers
  rules: Rules
  readOnly: boolean
}

/** Whoever came through `addAccess`: only routes that are open to anybody have requests of nobody. */
const identities = new WeakMap<FastifyRequest, Identity>()

export const identityOf = (request: FastifyRequest): Identity => {
  const identity = identities.get(request)
  if (!identity) throw new Error('an open route asked for the identity of the caller')
  return identity
}

const rights = new WeakMap<FastifyRequest, Rights>()

/** Which tasks there are for whoever makes a request. */
export const rightsOf = (request: FastifyRequest): Rights => {
  const known = rights.get(request)
  if (!known) throw new Error('an open route asked for the tasks of the caller')
  return known
}

/** For what is said of a request, however it ends. */
export const identityIfAny = (request: FastifyRequest): Identity | undefined => identities.get(request)

/** Puts what follows behind the guard. Nothing is served before these checks, not even that there is nothing. */
export const addAccess = (app: FastifyInstance, parts: AccessParts): void => {
  app.addHook('onRoute', (route: RouteOptions) => {
    if (route.config?.registryAccess === undefined)
      throw new Error(`The route ${route.method} ${route.url} does not declare who may use it.`)
  })
  app.addHook('onRequest', async (request, reply) => {
    // A server that we are mounted in may let other origins read its answers; they are not to read ours.
    for (const name of Object.keys(reply.getHeaders())) if (name.startsWith('access-control-')) reply.removeHeader(name)
    reply.headers(securityHeaders)
    if (whenceOf(request, parts.proxies).isHttps) reply.headers(strictTransport)
  })
  app.addHook('onRequest', request => check(request, parts))
}

const check = async (request: FastifyRequest, parts: AccessParts): Promise<void> => {
  const { guard, limits, readOnly, rules } = parts
  guard.checkHost(request)
  await limits.requests.count(request, addressOf(request))
  // What leads nowhere is told to anybody, and without a look at who asks.
  const access = request.is404 ? 'page' : request.routeOptions.config.registryAccess!
  guard.checkOrigin(request, access === 'page')
  if (access === 'page') return
  checkJson(request)
  if (access === 'open') return
  const identity = await identify(request, parts)
  identities.set(request, identity)
  rights.set(request, rules.of(identity))
  if (!includes(identity.role, access))
    throw new Refusal(403, 'Forbidden', `The role ${identity.role} may not do this; ${access} may.`)
  if (readOnly && !isSafe(request.method))
    throw new Refusal(403, 'Forbidden', 'This registry is read-only: nothing can be run or changed here.')
}

/**
 * Who shows a token. An address that showed too many wrong ones is refused a right one, too, until its time is over: else guessing goes on
 * unhindered. A token that it had shown before does not come from guessing, and is let in: nobody locks out a program that runs there.
 */
export const takeToken = async (
  request: FastifyRequest,
  { wrongTokens, rightTokens }: Limits,
  find: () => Identity | undefined,
): Promise<Identity> => {
  const address = addressOf(request)
  const identity = find()
  if (identity && rightTokens.has(address, identity.token)) return identity
  await wrongTokens.check(request, address)
  if (identity) {
    rightTokens.add(address, identity.token)
    return identity
  }
  await wrongTokens.count(request, address)
  throw unauthorized('The registry does not know this token.')
}

/**
 * A bearer token says more than a cookie, which a browser adds by itself. What a proxy says of a user it says of all that comes through it,
 * and some add an `authorization` of their own.
 */
const identify = async (request: FastifyRequest, parts: AccessParts): Promise<Identity> => {
  const { tokens, sessions, cookie, guard, limits, proxyUsers } = parts
  const user = proxyUsers.find(request)
  if (user) {
    // The proxy knows them by a cookie, too.
    guard.checkCookieUse(request)
    return user
  }
  const { authorization } = request.headers
  if (authorization !== undefined) {
    const given = /^Bearer ([\x21-\x7e]+)$/i.exec(authorization)?.[1] ?? ''
    return takeToken(request, limits, () => tokens.byToken(given))
  }
  const session = cookie.read(request)
  if (session === undefined) throw unauthorized('Log in, or send a bearer token.')
  const identity = await sessions.find(session, Date.now())
  if (!identity) throw unauthorized('This session has ended; log in again.')
  guard.checkCookieUse(request)
  return identity
}

const unauthorized = (message: string): Refusal =>
  new Refusal(401, 'Unauthorized', message, { 'www-authenticate': 'Bearer realm="pshub"' })
