import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Login, Role, Session } from '../contract.ts'
import { type AccessParts, identityOf } from './access.ts'
import { addressOf } from './limits.ts'
import { Refusal } from './refusal.ts'
import { sessionMs } from './tokens.ts'

export interface SessionRoutesOptions extends AccessParts {
  /** Of somebody in this role. */
  sessionOf(role: Role): Session
}

/** Logging in and out, and who one is. */
export const sessionRoutes = async (app: FastifyInstance, parts: SessionRoutesOptions): Promise<void> => {
  const { tokens, cookie, guard, limits, sessionOf } = parts
  const open = { config: { registryAccess: 'open' as const } }

  app.get('/api/session', { config: { registryAccess: 'view' } }, async request => sessionOf(identityOf(request).role))

  app.post('/api/login', open, async (request, reply) => {
    const token = tokenIn(request)
    await limits.wrongTokens.check(request, addressOf(request))
    const identity = tokens.byToken(token)
    if (!identity) {
      await limits.wrongTokens.count(request, addressOf(request))
      throw new Refusal(401, 'Unauthorized', 'This token is not one of the registry.')
    }
    const session = tokens.startSession(identity.role, Date.now())
    return reply.header('set-cookie', cookie.write(request, session, sessionMs)).send(sessionOf(identity.role))
  })

  app.post('/api/logout', open, async (request, reply) => {
    guard.checkCookieUse(request)
    const session = cookie.read(request)
    if (session !== undefined) tokens.endSession(session, Date.now())
    return reply
      .header('set-cookie', cookie.write(request, '', 0))
      .code(204)
      .send()
  })
}

const tokenIn = ({ body }: FastifyRequest): string => {
  const token = (body as Partial<Login> | null | undefined)?.token
  if (typeof token === 'string' && token.length <= 512) return token
  throw new Refusal(400, 'BadRequest', 'Send a token, as in {"token":"..."}.')
}
