import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import type { Role } from '../contract.ts'
import type { SessionCookie } from './cookies.ts'
import { checkJson, type Guard, isSafe } from './guard.ts'
import { addressOf, type Limits } from './limits.ts'
import { Refusal } from './refusal.ts'
import { securityHeaders } from './response-headers.ts'
import { type Identity, includes, type TokenBook } from './tokens.ts'

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
  cookie: SessionCookie
  guard: Guard
  limits: Limits
  readOnly: boolean
}

/** Whoever came through `addAccess`: only routes that are open to anybody have requests of nobody. */
const identities = new WeakMap<FastifyRequest, Identity>()

export const identityOf = (request: FastifyRequest): Identity => {
  const identity = identities.get(request)
  if (!identity) throw new Error('a route that is open to anybody asked who is there')
  return identity
}

/** Puts what follows behind the guard. Nothing is served before these checks, not even that there is nothing. */
export const addAccess = (app: FastifyInstance, parts: AccessParts): void => {
  app.addHook('onRoute', (route: RouteOptions) => {
    if (route.config?.registryAccess === undefined)
      throw new Error(`The route ${route.method} ${route.url} does not say who may use it.`)
  })
  app.addHook('onRequest', async (_request, reply) => {
    // A server that we are mounted in may let other origins read its answers; they are not to read ours.
    for (const name of Object.keys(reply.getHeaders())) if (name.startsWith('access-control-')) reply.removeHeader(name)
    reply.headers(securityHeaders)
  })
  app.addHook('onRequest', request => check(request, parts))
}

const check = async (request: FastifyRequest, parts: AccessParts): Promise<void> => {
  const { guard, limits, readOnly } = parts
  guard.checkHost(request)
  await limits.requests.count(request, addressOf(request))
  // What leads nowhere is told to anybody, and without a look at who asks.
  const access = request.is404 ? 'page' : request.routeOptions.config.registryAccess!
  guard.checkOrigin(request, access === 'page')
  if (access === 'page') return
  checkJson(request)
  if (access === 'open') return
  const identity = await identify(request, parts)
  if (!includes(identity.role, access))
    throw new Refusal(403, 'Forbidden', `The role ${identity.role} may not do this; ${access} may.`)
  if (readOnly && !isSafe(request.method))
    throw new Refusal(403, 'Forbidden', 'This registry is read-only: nothing can be run or changed here.')
  identities.set(request, identity)
}

/** A bearer token says more than a cookie, which a browser adds by itself. */
const identify = async (request: FastifyRequest, parts: AccessParts): Promise<Identity> => {
  const { tokens, cookie, guard, limits } = parts
  const { authorization } = request.headers
  if (authorization !== undefined) {
    const identity = tokens.byToken(/^Bearer ([\x21-\x7e]+)$/i.exec(authorization)?.[1] ?? '')
    if (identity) return identity
    await limits.wrongTokens.count(request, addressOf(request))
    throw unauthorized('This token is not one of the registry.')
  }
  const session = cookie.read(request)
  if (session === undefined) throw unauthorized('Log in, or send a bearer token.')
  const identity = tokens.bySession(session, Date.now())
  if (!identity) throw unauthorized('This session is over; log in again.')
  guard.checkCookieUse(request)
  return identity
}

const unauthorized = (message: string): Refusal =>
  new Refusal(401, 'Unauthorized', message, { 'www-authenticate': 'Bearer realm="pshub"' })
