import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { LoginProblem } from '../login-contract.ts'
import type { AccessParts } from './access.ts'
import { auditOf } from './audit.ts'
import { BegunCookie, begunMs } from './begun-cookie.ts'
import type { SessionCookie } from './cookies.ts'
import { addressOf } from './limits.ts'
import { type Provider, ProviderFailure } from './provider.ts'
import { Refusal } from './refusal.ts'
import { sessionMs } from './sessions.ts'
import { whenceOf } from './whence.ts'

export interface ProviderRoutesOptions extends AccessParts {
  provider: Provider
  /** What signs log-ins that were begun. */
  secret: string
  /** Keeps these: other than a session's cookie it comes along when the provider sends the browser back. */
  begunCookie: SessionCookie
}

const longestBack = 1000

/** To the provider and back. Whoever fails comes to the page of log-ins, which says why in words of its own. */
export const providerRoutes = async (app: FastifyInstance, parts: ProviderRoutesOptions): Promise<void> => {
  const { provider, sessions, cookie, limits, rules, proxies, begunCookie } = parts
  const audit = auditOf(app, 'access')
  const begun = new BegunCookie(parts.secret)
  const baseOf = (request: FastifyRequest) => {
    const { host, isHttps } = whenceOf(request, proxies)
    return `${isHttps ? 'https' : 'http'}://${host}${app.prefix}`
  }
  const failed = (request: FastifyRequest, reply: FastifyReply, problem: LoginProblem, reason: string) => {
    audit(request, 'log-in failed', { problem, reason })
    return leave(reply, `${app.prefix}/login?problem=${problem}`)
  }

  app.get('/login/provider', { config: { registryAccess: 'open' } }, async (request, reply) => {
    const base = baseOf(request)
    try {
      const { url, begun: sent } = await provider.begin(`${base}/login/callback`)
      const back = backIn(request, base)
      const text = begun.write({ ...sent, back, untilMs: Date.now() + begunMs })
      return leave(reply.header('set-cookie', begunCookie.write(request, text, begunMs)), url)
    } catch (error) {
      if (!(error instanceof ProviderFailure)) throw error
      return failed(request, reply, error.problem, error.message)
    }
  })

  // Another site leads here, and that is all it does: what counts is in the signed cookie, and in what the provider itself says.
  app.get('/login/callback', { config: { registryAccess: 'page' } }, async (request, reply) => {
    const login = begun.read(begunCookie.read(request), Date.now())
    reply.header('set-cookie', begunCookie.write(request, '', 0))
    if (!login) return failed(request, reply, 'begun', 'this browser did not start it, or started it too long ago')
    const base = baseOf(request)
    try {
      await limits.wrongTokens.check(request, addressOf(request))
      const query = new URL(request.url, base).search
      const user = await provider.finish(new URL(`${base}/login/callback${query}`), login)
      const role = rules.roleOf(user)
      if (!role) return failed(request, reply, 'role', `${user.name} has no role`)
      const session = await sessions.startOf(user, role, Date.now())
      audit(request, 'logged in', { who: `user:${user.name}`, role, by: 'provider' })
      const cookies = [begunCookie.write(request, '', 0), cookie.write(request, session, sessionMs)]
      return leave(reply.removeHeader('set-cookie').header('set-cookie', cookies), login.back)
    } catch (error) {
      if (error instanceof Refusal)
        return failed(request, reply, error.status === 429 ? 'often' : 'refused', error.message)
      if (!(error instanceof ProviderFailure)) throw error
      if (error.problem === 'refused')
        await limits.wrongTokens.count(request, addressOf(request)).catch(() => undefined)
      return failed(request, reply, error.problem, error.message)
    }
  })
}

const leave = (reply: FastifyReply, address: string) => reply.code(303).header('location', address).send()

/** The page that somebody came from: one of ours, whatever is asked for. */
const backIn = ({ query }: FastifyRequest, base: string): string => {
  const { pathname: first } = new URL(`${base}/`)
  const asked = (query as Record<string, unknown>).back
  if (typeof asked !== 'string' || asked.length > longestBack || !/^\/[\x21-\x7e]*$/.test(asked)) return first
  const { href, pathname, search } = new URL(asked, base)
  return href.startsWith(`${base}/`) && !pathname.startsWith('//') ? pathname + search : first
}
