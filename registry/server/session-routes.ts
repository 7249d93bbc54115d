import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Session } from '../contract.ts'
import type { Login, LoginWays } from '../login-contract.ts'
import { type AccessParts, identityOf, takeToken } from './access.ts'
import { auditOf, whoIs } from './audit.ts'
import { Refusal } from './refusal.ts'
import { sessionMs } from './sessions.ts'
import type { Identity } from './tokens.ts'

export interface SessionRoutesOptions extends AccessParts {
  /** Of somebody who is in. */
  sessionOf(identity: Identity): Session
  ways: LoginWays
}

/** Logging in and out, and who one is. */
export const sessionRoutes = async (app: FastifyInstance, parts: SessionRoutesOptions): Promise<void> => {
  const { tokens, sessions, cookie, guard, limits, sessionOf, ways } = parts
  const audit = auditOf(app, 'access')
  const open = { config: { registryAccess: 'open' as const } }

  app.get('/api/session', { config: { registryAccess: 'view' } }, async request => sessionOf(identityOf(request)))

  app.get('/api/login', open, async (): Promise<LoginWays> => ways)

  app.post('/api/login', open, async (request, reply) => {
    const token = tokenIn(request)
    const identity = await takeToken(request, limits, () => tokens.byToken(token) ?? tokens.byCode(token, Date.now()))
    const session = await sessions.start(identity.role, Date.now())
    audit(request, 'logged in', { who: whoIs(identity), role: identity.role })
    return reply.header('set-cookie', cookie.write(request, session, sessionMs)).send(sessionOf(identity))
  })

  app.post('/api/logout', open, async (request, reply) => {
    guard.checkCookieUse(request)
    const session = cookie.read(request)
    const identity = session === undefined ? undefined : await sessions.find(session, Date.now()).catch(() => undefined)
    if (identity) {
      const isTold = await sessions.end(session!, identity.untilMs!)
      audit(request, isTold ? 'logged out' : 'logged out; the session will be deleted when Redis is reachable', {
        who: whoIs(identity),
        role: identity.role,
      })
    }
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
