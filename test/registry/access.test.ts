import fastify from 'fastify'
import { describe, expect, it } from 'vitest'
import { type Role, roles } from '../../registry/contract.ts'
import { defineTask } from '../../src/index.ts'
import { addressOf, cookieOf, mountIn, type Route, statusOf, unsafe } from '../support/mounted-registry.ts'
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
  'POST /api/login': 'anybody',
  'POST /api/logout': 'anybody',
  'GET /api/session': 'view',
  'GET /api/overview': 'view',
  'GET /api/tasks': 'view',
  'GET /api/tasks/*': 'view',
  'GET /api/workers': 'view',
  'GET /api/workers/*': 'view',
  'GET /api/queues': 'view',
  'GET /api/slow': 'view',
  'GET /api/failures': 'view',
  'GET /api/refusals': 'view',
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

describe('who may do what', () => {
  it('is known of every route', async () => {
    const { routes } = await mounted()
    expect(routes.filter(route => neededBy(route) === undefined)).toEqual([])
    const seen = new Set(routes.map(({ method, url }) => `${method} ${url.replace(/^\/hub/, '')}`))
    expect(Object.keys(needed).filter(route => !seen.has(route))).toEqual([])
  })

  it('holds for each route, role, way to show it, method and site: nobody does what they may not', async () => {
    await fixture.worker([echo])
    const { app, routes } = await mounted()
    const wrong: string[] = []
    let asked = 0
    const paths = new Set(routes.map(({ url }) => url))
    const cookies = {
      view: await cookieOf(app, 'view'),
      run: await cookieOf(app, 'run'),
      admin: await cookieOf(app, 'admin'),
    }
    for (const url of paths) {
      if (url === '/hub/api/live') continue
      for (const method of ['GET', 'HEAD', 'OPTIONS', ...unsafe]) {
        const route = routes.find(known => known.url === url && known.method === method)
        const need = route && neededBy(route)
        for (const role of [undefined, ...roles]) {
          for (const way of role ? ['bearer', 'cookie'] : ['nothing']) {
            for (const site of ['same-origin', 'cross-site', 'same-site']) {
              const shown = role ? (way === 'bearer' ? bearer(role) : cookies[role]) : {}
              const headers = { ...json, ...shown, 'sec-fetch-site': site }
              const { statusCode } = await statusOf(app, method, addressOf({ method, url }), headers)
              asked++
              // The session that it was sent with is over.
              if (url.endsWith('/logout') && role) cookies[role] = await cookieOf(app, role)
              const has = role === undefined ? -1 : roles.indexOf(role)
              const isPage = need === 'anybody' && !url.includes('/api/') && !url.includes('healthz')
              const isOurs = site === 'same-origin' || isPage
              const may = need !== undefined && isOurs && (need === 'anybody' || has >= roles.indexOf(need))
              // A file, a worker, a job or a schedule that is not there: that is said to who may know.
              const isMissing =
                statusCode === 404 && /\/(assets|api\/workers)\/\*$|\/api\/(jobs|schedules)\/:/.test(url)
              const served = statusCode < 400 || isMissing || statusCode === 400
              const refused = [401, 403, 404].includes(statusCode)
              // A login with {} gets as far as being told so; a wrong one and a missing file count as served.
              if (may ? !served && !(url.endsWith('/login') && statusCode === 400) : !refused)
                wrong.push(`${method} ${url} ${role} ${way} ${site}: ${statusCode}`)
            }
          }
        }
      }
    }
    expect(wrong).toEqual([])
    expect(asked).toBeGreaterThan(3000)
  }, 120_000)

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
    expect(() => app.get('/new', async () => 'secret')).toThrow(/GET \/new does not say who may use it/)
  })
})
