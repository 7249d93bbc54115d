import fastify from 'fastify'
import { describe, expect, it } from 'vitest'
import { type Role, roles } from '../../registry/contract.ts'
import { defineTask } from '../../src/index.ts'
import { client, startLoginProvider } from '../support/login-provider.ts'
import { addressOf, cookieOf, home, mountIn, type Route, statusOf, unsafe } from '../support/mounted-registry.ts'
import { bearer, json, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const mounted = mountIn(fixture)
const echo = defineTask('echo:1.0', {}, (value: unknown) => value)

/** What each route needs, as a second list: one that is added has to be put here too. */
const needed: Record<string, Role | 'anybody'> = {
  'POST /api/call/*': 'run',
  'POST /api/queues/:queue/pause': 'admin',
  'POST /api/queues/:queue/resume': 'admin',
  'GET /api/jobs': 'view',
  'GET /api/jobs/:id': 'view',
  'GET /api/jobs-matching': 'view',
  'GET /api/keys': 'view',
  'GET /api/keys/dead': 'view',
  'POST /api/keys/run': 'admin',
  'POST /api/keys/skip': 'admin',
  'POST /api/keys/delete': 'admin',
  'POST /api/keys/retry': 'admin',
  'GET /api/schedules': 'view',
  'POST /api/enqueue/*': 'run',
  'POST /api/jobs/:id/retry': 'admin',
  'POST /api/jobs/:id/delete': 'admin',
  'POST /api/jobs/:id/cancel': 'admin',
  'POST /api/jobs/:id/run': 'admin',
  'POST /api/jobs/:id/cancel-chain': 'admin',
  'POST /api/jobs-matching/retry': 'admin',
  'POST /api/jobs-matching/delete': 'admin',
  'POST /api/jobs-matching/cancel': 'admin',
  'POST /api/jobs-matching/run': 'admin',
  'POST /api/schedules': 'admin',
  'POST /api/schedules/:queue/:name/pause': 'admin',
  'POST /api/schedules/:queue/:name/resume': 'admin',
  'POST /api/schedules/:queue/:name/run': 'admin',
  'POST /api/schedules/:queue/:name/remove': 'admin',
  'POST /api/jobs/:id/reveal': 'admin',
  'GET /api/templates/*': 'view',
  'POST /api/templates/*': 'run',
  'POST /api/template-removal/*': 'run',
  'GET /mcp': 'run',
  'POST /mcp': 'run',
  'DELETE /mcp': 'run',
  'GET /api/login': 'anybody',
  'GET /login/provider': 'anybody',
  'GET /login/callback': 'anybody',
  'POST /api/login': 'anybody',
  'POST /api/logout': 'anybody',
  'GET /api/session': 'view',
  'GET /api/overview': 'view',
  'GET /api/tasks': 'view',
  'GET /api/tasks/*': 'view',
  'GET /api/workers': 'view',
  'GET /api/workers/*': 'view',
  'GET /api/queues': 'view',
  'GET /api/search': 'view',
  'GET /api/slow': 'view',
  'GET /api/failures': 'view',
  'GET /api/unanswered': 'view',
  'GET /api/history': 'view',
  'GET /api/live': 'view',
  'GET /metrics': 'view',
  'GET /openapi.json': 'view',
  'GET /healthz': 'anybody',
  'GET ': 'anybody',
  'GET /login': 'anybody',
  'GET /tasks': 'anybody',
  'GET /tasks/*': 'anybody',
  'GET /workers': 'anybody',
  'GET /workers/*': 'anybody',
  'GET /queues': 'anybody',
  'GET /queues/:queue': 'anybody',
  'GET /jobs': 'anybody',
  'GET /jobs/:job': 'anybody',
  'GET /key': 'anybody',
  'GET /schedules': 'anybody',
  'GET /api-reference': 'anybody',
  'GET /failures': 'anybody',
  'GET /slow': 'anybody',
  'GET /assets/*': 'anybody',
}
const neededBy = ({ method, url }: Route) =>
  needed[`${method === 'HEAD' ? 'GET' : method} ${url.replace(/^\/hub/, '')}`]

/** A registry that can be entered in every way: by token, as a session of it, by a proxy's header, and by a provider's word. */
const withAllWays = async () => {
  const provider = await startLoginProvider({})
  fixture.onEnd(() => provider.close())
  const access = {
    roles: Object.fromEntries(roles.map(role => [role, [`group:of-${role}`, `user:${role}@example.com`]])),
  }
  const { app, routes } = await mounted({
    ...{ userHeader: 'X-User', behindProxy: ['127.0.0.1'], access },
    ...{ oidcIssuer: provider.issuer, oidcClientId: client.id, oidcClientSecret: client.secret },
  })
  const ask = (url: string, headers: object) => app.inject({ method: 'GET', url, headers: { host: home, ...headers } })
  const cookieIn = (response: { headers: object }) =>
    [(response.headers as Record<string, string | string[]>)['set-cookie']]
      .flat()
      .map(text => String(text).split(';')[0]!)
      .find(pair => !pair.endsWith('='))!
  const logIn = async (role: Role) => {
    provider.state.user = { email: `somebody@example.com`, email_verified: true, groups: [`of-${role}`] }
    const begun = await ask('/hub/login/provider', {})
    const answered = await fetch(String(begun.headers.location), { redirect: 'manual' })
    const { pathname, search } = new URL(answered.headers.get('location')!)
    return { cookie: cookieIn(await ask(pathname + search, { cookie: cookieIn(begun) })) }
  }
  const shown: Record<string, (role: Role) => Promise<Record<string, string>>> = {
    bearer: async role => bearer(role),
    cookie: role => cookieOf(app, role),
    proxy: async role => ({ 'x-user': `${role}@example.com` }),
    provider: logIn,
  }
  return { app, routes, shown }
}

describe('who may do what', () => {
  it('is known of every route', async () => {
    const { routes } = await withAllWays()
    expect(routes.filter(route => neededBy(route) === undefined)).toEqual([])
    const seen = new Set(routes.map(({ method, url }) => `${method} ${url.replace(/^\/hub/, '')}`))
    expect(Object.keys(needed).filter(route => !seen.has(route))).toEqual([])
  })

  it('holds for each route, role, method and site, by turns for each way to show it: nobody does what they may not', async () => {
    await fixture.worker([echo])
    const { app, routes, shown } = await withAllWays()
    const wrong: string[] = []
    let asked = 0
    const paths = new Set(routes.map(({ url }) => url))
    const kept = new Map<string, Record<string, string>>()
    for (const role of roles)
      for (const [way, show] of Object.entries(shown)) kept.set(`${role} ${way}`, await show(role))
    for (const url of paths) {
      if (url === '/hub/api/live') continue
      for (const method of ['GET', 'HEAD', 'OPTIONS', ...unsafe]) {
        const route = routes.find(known => known.url === url && known.method === method)
        const need = route && neededBy(route)
        for (const role of [undefined, ...roles]) {
          for (const site of ['same-origin', 'cross-site', 'same-site']) {
            // Who asks is found out before the route is looked at, so that the ways take turns.
            const way = role ? Object.keys(shown)[asked % Object.keys(shown).length]! : 'nothing'
            const headers = { ...json, ...kept.get(`${role} ${way}`), 'sec-fetch-site': site }
            const { statusCode } = await statusOf(app, method, addressOf({ method, url }), headers)
            asked++
            // The session that it was sent with is over.
            if (url.endsWith('/logout') && role) kept.set(`${role} ${way}`, await shown[way]!(role))
            const has = role === undefined ? -1 : roles.indexOf(role)
            const isPage = need === 'anybody' && !/\/api\/|healthz|login\/provider/.test(url)
            const isOurs = site === 'same-origin' || isPage
            // Agents' tools are for programs: no login of a page is let in.
            const isLogin = url === '/hub/mcp' && ['cookie', 'provider'].includes(way)
            const may = need !== undefined && isOurs && !isLogin && (need === 'anybody' || has >= roles.indexOf(need))
            // A file, a worker, a job or a schedule that is not there: that is said to who may know.
            const isMissing = statusCode === 404 && /\/(assets|api\/workers)\/\*$|\/api\/(jobs|schedules)\/:/.test(url)
            // Who may speak to agents' tools, and does not as these do, hears 406.
            const isUnspoken = url === '/hub/mcp' && statusCode === 406
            const served = statusCode < 400 || isMissing || isUnspoken || statusCode === 400
            const refused = [401, 403, 404].includes(statusCode)
            // A login with {} gets as far as being told so; a wrong one and a missing file count as served.
            if (may ? !served && !(url.endsWith('/login') && statusCode === 400) : !refused)
              wrong.push(`${method} ${url} ${role} ${way} ${site}: ${statusCode}`)
          }
        }
      }
    }
    expect(wrong).toEqual([])
    expect(asked).toBeGreaterThan(1500)
  }, 120_000)

  it('is said by nobody but the proxy, for any route and method', async () => {
    const { app, routes } = await withAllWays()
    const spoofed = {
      ...json,
      'x-user': 'admin@example.com',
      'x-forwarded-for': '127.0.0.1',
      'sec-fetch-site': 'same-origin',
    }
    const letIn: string[] = []
    for (const route of routes.filter(each => neededBy(each) !== 'anybody')) {
      const { method, url } = route
      const { statusCode } = await app.inject({
        ...{ method: method as 'GET', url: addressOf(route), remoteAddress: '192.0.2.1' },
        headers: { host: home, ...spoofed },
        ...(unsafe.includes(method) ? { payload: '{}' } : {}),
      })
      if (statusCode !== 403) letIn.push(`${method} ${url}: ${statusCode}`)
    }
    expect(letIn).toEqual([])
  })

  it('holds for the stream too', async () => {
    const registry = await fixture.registry()
    const ask = async (headers: Record<string, string>) => {
      const end = new AbortController()
      const { status } = await fetch(registry.at('api/live'), { headers, signal: end.signal })
      end.abort()
      return status
    }
    expect(await ask({})).toBe(401)
    expect(await ask(bearer('view'))).toBe(200)
    expect(await ask({ ...bearer('view'), 'sec-fetch-site': 'cross-site' })).toBe(403)
    expect((await fetch(registry.at('api/live'), { method: 'HEAD', headers: bearer('view') })).status).toBe(404)
  })

  it('stops a route that does not say it', async () => {
    const { addAccess } = await import('../../registry/server/access.ts')
    const app = fastify()
    addAccess(app, {} as never)
    expect(() => app.get('/new', async () => 'secret')).toThrow(/GET \/new does not declare who may use it/)
  })
})
