import { request as httpRequest } from 'node:http'
import fastify, { type FastifyInstance } from 'fastify'
import { registry as plugin } from 'pshub/registry'
import { describe, expect, it } from 'vitest'
import { type Role, roles } from '../../registry/contract.ts'
import { TokenBook } from '../../registry/server/tokens.ts'
import { defineTask } from '../../src/index.ts'
import { tokens, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const echo = defineTask('echo:1.0', {}, (value: unknown) => value)

interface Route {
  method: string
  url: string
}

/** The plugin in a server that is asked without a network, and the routes that it has, from fastify itself. */
const mounted = async (options: object = {}, prefix = '/hub'): Promise<{ app: FastifyInstance; routes: Route[] }> => {
  const app = fastify({ forceCloseConnections: true })
  const routes: Route[] = []
  app.addHook('onRoute', ({ method, url }) => {
    // A prefix is a route with and without its slash, of which only one is told.
    for (const one of [method].flat()) routes.push({ method: one, url: url === `${prefix}/` ? prefix : url })
  })
  const hub = { redis: fixture.url, namespace: fixture.namespace, logLevel: 'silent' }
  const { view: viewToken, run: runToken, admin: adminToken } = tokens
  await app.register(plugin, { prefix, hub, viewToken, runToken, adminToken, maxRunsPerSecond: 100_000, ...options })
  await app.ready()
  fixture.onEnd(() => app.close())
  return { app, routes }
}

const home = '127.0.0.1:7421'
const json = { 'content-type': 'application/json' }
const bearer = (role: Role) => ({ authorization: `Bearer ${tokens[role]}` })
/** A session's cookie, as a login at `home` gives it. */
const cookieOf = (role: Role) => ({
  cookie: `pshub_registry_7421=${new TokenBook(tokens).startSession(role, Date.now())}`,
})

/** An address for a route, with something that is there in the place of its parameter. */
const addressOf = ({ url }: Route) =>
  url
    .replace('/api/call/*', '/api/call/echo:1.0')
    .replace('/api/tasks/*', '/api/tasks/echo:1.0')
    .replace('/api/enqueue/*', '/api/enqueue/echo:1.0')
    .replace(/:(queue|name|id)\//g, 'x/')
    .replace(/[:*][a-z]*$/, 'x')

/** What each route needs, as a second list: one that is added has to be put here too. */
const needed: Record<string, Role | 'anybody'> = {
  'POST /api/call/*': 'run',
  'POST /api/queues/:queue/pause': 'admin',
  'POST /api/queues/:queue/resume': 'admin',
  'GET /api/jobs': 'view',
  'GET /api/jobs/:id': 'view',
  'GET /api/jobs-matching': 'view',
  'GET /api/schedules': 'view',
  'POST /api/enqueue/*': 'run',
  'POST /api/jobs/:id/retry': 'admin',
  'POST /api/jobs/:id/delete': 'admin',
  'POST /api/jobs/:id/cancel': 'admin',
  'POST /api/jobs/:id/cancel-chain': 'admin',
  'POST /api/jobs-matching/retry': 'admin',
  'POST /api/jobs-matching/delete': 'admin',
  'POST /api/jobs-matching/cancel': 'admin',
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
  'GET /api/queues': 'view',
  'GET /api/slow': 'view',
  'GET /api/failures': 'view',
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
  'GET /workers/:worker': 'anybody',
  'GET /queues': 'anybody',
  'GET /queues/:queue': 'anybody',
  'GET /jobs': 'anybody',
  'GET /jobs/:job': 'anybody',
  'GET /schedules': 'anybody',
  'GET /assets/*': 'anybody',
}
const neededBy = ({ method, url }: Route) =>
  needed[`${method === 'HEAD' ? 'GET' : method} ${url.replace(/^\/hub/, '')}`]

const unsafe = ['POST', 'PUT', 'PATCH', 'DELETE']
const statusOf = async (app: FastifyInstance, method: string, url: string, headers: Record<string, string>) => {
  // A stream never ends: it is asked for over the network, below.
  const payload = unsafe.includes(method) ? { payload: '{}' } : {}
  const response = await app.inject({ method: method as 'GET', url, headers: { host: home, ...headers }, ...payload })
  return response
}

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
    for (const url of paths) {
      if (url === '/hub/api/live') continue
      for (const method of ['GET', 'HEAD', 'OPTIONS', ...unsafe]) {
        const route = routes.find(known => known.url === url && known.method === method)
        const need = route && neededBy(route)
        for (const role of [undefined, ...roles]) {
          for (const way of role ? ['bearer', 'cookie'] : ['nothing']) {
            for (const site of ['same-origin', 'cross-site', 'same-site']) {
              const shown = role ? (way === 'bearer' ? bearer(role) : cookieOf(role)) : {}
              const headers = { ...json, ...shown, 'sec-fetch-site': site }
              const { statusCode } = await statusOf(app, method, addressOf({ method, url }), headers)
              asked++
              const has = role === undefined ? -1 : roles.indexOf(role)
              const isPage = need === 'anybody' && !url.includes('/api/') && !url.includes('healthz')
              const isOurs = site === 'same-origin' || isPage
              const may = need !== undefined && isOurs && (need === 'anybody' || has >= roles.indexOf(need))
              // A file, a job or a schedule that is not there: that is said to who may know.
              const isMissing = statusCode === 404 && /\/assets\/\*$|\/api\/(jobs|schedules)\/:/.test(url)
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

describe('hosts', () => {
  it('that are not its own are refused, on every route', async () => {
    const { app, routes } = await mounted({ allowedHosts: ['hub.example', 'fd00::7'] })
    const own = [
      home,
      '127.0.0.1',
      'localhost',
      'LOCALHOST:1',
      '[::1]:7421',
      'hub.example',
      'hub.example:443',
      '[fd00::7]',
    ]
    const foreign = [
      'evil.example',
      'localhost.evil.example',
      'evil.example:7421',
      '127.0.0.1.evil.example',
      'localhost.',
      '127.0.0.2',
      '0.0.0.0',
      '127.1',
      '2130706433',
      '[::]',
      '::1',
      'xhub.example',
      'hub.example.',
      'hub.example@evil.example',
      'a,localhost',
      'localhost:port',
      'localhost:123456',
      'hub.example#',
      ' ',
    ]
    for (const host of own)
      expect([host, (await statusOf(app, 'GET', '/hub/', { host })).statusCode]).toEqual([host, 200])
    for (const { method, url } of routes) {
      for (const host of url === '/hub' ? foreign : ['evil.example']) {
        const { statusCode } = await statusOf(app, method, addressOf({ method, url }), {
          ...bearer('admin'),
          ...json,
          host,
        })
        expect([method, url, host, statusCode]).toEqual([method, url, host, 421])
      }
    }
  })

  it('have to be named', async () => {
    const { url } = await fixture.registry()
    expect(await raw(url, 'GET / HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 421 /)
    expect(await raw(url, 'GET / HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n')).toMatch(/^HTTP\/1.1 421 /)
  })

  it('that a proxy names count when it is told to, and then both do', async () => {
    const behind = (await mounted({ behindProxy: true, allowedHosts: ['hub.example'] })).app
    const direct = (await mounted({ allowedHosts: ['hub.example'] })).app
    const ask = async (app: FastifyInstance, host: string, forwarded: string) =>
      (await statusOf(app, 'GET', '/hub/', { host, 'x-forwarded-host': forwarded })).statusCode
    expect(await ask(behind, home, 'hub.example')).toBe(200)
    expect(await ask(behind, home, 'evil.example')).toBe(421)
    // What a page behind a rebound name could send.
    expect(await ask(behind, 'evil.example', 'hub.example')).toBe(421)
    expect(await ask(behind, home, 'evil.example, hub.example')).toBe(421)
    expect(await ask(direct, home, 'evil.example')).toBe(200)
  })
})

describe('requests of other sites', () => {
  it('run nothing, whatever they look like', async () => {
    let runs = 0
    await fixture.worker([defineTask('count:1.0', {}, () => ++runs)])
    const { app } = await mounted()
    const session = cookieOf('admin')
    const same = { 'sec-fetch-site': 'same-origin', origin: `http://${home}` }
    const refused: [Record<string, string>, number][] = [
      [{ ...json, ...session }, 403],
      [{ ...json, ...session, origin: 'null' }, 403],
      [{ ...json, ...session, origin: 'http://evil.example' }, 403],
      [{ ...json, ...session, origin: 'http://127.0.0.1:9999' }, 403],
      [{ ...json, ...session, 'sec-fetch-site': 'cross-site' }, 403],
      [{ ...json, ...session, 'sec-fetch-site': 'same-site', origin: `http://${home}` }, 403],
      [{ ...json, ...session, 'sec-fetch-site': 'none' }, 403],
      [{ ...json, ...session, ...same, origin: 'null' }, 403],
      [{ ...json, ...bearer('admin'), 'sec-fetch-site': 'cross-site' }, 403],
      [{ ...json, ...bearer('admin'), origin: 'https://evil.example' }, 403],
      [{ ...json, ...bearer('admin'), origin: 'null' }, 403],
      [{ ...same, ...session, 'content-type': 'text/plain' }, 415],
      [{ ...same, ...session, 'content-type': 'application/x-www-form-urlencoded' }, 415],
      [{ ...same, ...session, 'content-type': 'multipart/form-data; boundary=x' }, 415],
      [{ ...same, ...session, 'content-type': 'application/jsonx' }, 415],
      [{ ...same, ...session, 'content-type': 'text/plain; application/json' }, 415],
      [{ ...same, ...session }, 415],
      [{ ...json, ...same, ...cookieOf('view') }, 403],
      [{ ...json, ...same }, 401],
    ]
    for (const [headers, status] of refused) {
      const { statusCode } = await statusOf(app, 'POST', '/hub/api/call/count:1.0', headers)
      expect([headers, statusCode]).toEqual([headers, status])
    }
    expect(runs).toBe(0)
    for (const headers of [{ ...session, ...same }, { ...session, origin: `http://${home}` }, bearer('run')])
      expect((await statusOf(app, 'POST', '/hub/api/call/count:1.0', { ...json, ...headers })).statusCode).toBe(200)
    expect(runs).toBe(3)
  })

  it('are never told that they may read an answer', async () => {
    const { app } = await mounted()
    const origins = [
      'null',
      'http://evil.example',
      'https://evil.example',
      'http://localhost',
      `http://${home}`,
      'http://127.0.0.1',
      'file://',
      'http://localhost:7421.evil.example',
      `http://${home}.evil.example`,
      `http://evil.example/${home}`,
      '*',
      'http://',
      'chrome-extension://abc',
      'http://user@127.0.0.1:7421',
      'HTTP://EVIL.EXAMPLE',
      'http://[::1]',
      'moz-extension://x',
      'http://xn--bcher-kva.example',
      'data:',
      'http://evil.example:7421',
    ]
    for (const origin of origins) {
      for (const [method, url] of [
        ['GET', '/hub/api/tasks'],
        ['OPTIONS', '/hub/api/call/x'],
        ['POST', '/hub/api/call/x'],
      ] as const) {
        const headers = { ...json, ...bearer('admin'), origin, 'access-control-request-method': 'POST' }
        const response = await statusOf(app, method, url, headers)
        expect(Object.keys(response.headers).filter(name => name.startsWith('access-control'))).toEqual([])
        if (origin !== `http://${home}`)
          expect([origin, method, response.statusCode < 400]).toEqual([origin, method, false])
      }
    }
  })
})

describe('headers', () => {
  it('are on every answer, refusals and faults included', async () => {
    await fixture.worker([echo])
    const registry = await fixture.registry({ basePath: '/hub' })
    const ask = (path: string, init: RequestInit = {}) => fetch(new URL(path, registry.url), init)
    const page = await (await ask('/hub/')).text()
    const asset = /\/hub\/assets\/[\w.-]+\.js/.exec(page)![0]
    const auth = { headers: bearer('admin') }
    const post = (headers: object, body = '{}') => ({ method: 'POST', headers: { ...json, ...headers }, body })
    const answers = {
      200: [ask('/hub/'), ask(asset), ask('/hub/healthz'), ask('/hub/metrics', auth), ask('/hub/api/tasks', auth)],
      304: [ask(asset, { headers: { 'if-none-match': (await ask(asset)).headers.get('etag')! } })],
      400: [
        ask('/hub/%zz'),
        ask('/hub/api/call/echo:1.0', post(bearer('run'), '{')),
        ask('/hub/api/history?range=x', auth),
      ],
      401: [ask('/hub/api/tasks'), ask('/hub/api/call/x', post({})), ask('/hub/openapi.json')],
      403: [ask('/hub/api/call/x', post(bearer('view'))), ask('/hub/api/tasks', { headers: { origin: 'null' } })],
      404: [
        ask('/'),
        ask('/hub/x'),
        ask('/hub/api/x'),
        ask('/hub/assets/x'),
        ask('/hub/api/tasks', { method: 'DELETE' }),
      ],
      413: [ask('/hub/api/call/echo:1.0', post(bearer('run'), `"${'x'.repeat(300_000)}"`))],
      415: [ask('/hub/api/call/x', { method: 'POST', headers: bearer('run'), body: 'x' })],
    }
    for (const [status, asked] of Object.entries(answers)) {
      for (const response of await Promise.all(asked)) {
        expect([response.url, response.status]).toEqual([response.url, Number(status)])
        checkHeaders(Object.fromEntries(response.headers), response.url)
        const text = await response.text()
        expect(text, response.url).not.toMatch(/\n\s+at |node_modules/)
        if (response.url.includes('/assets/') && response.ok) continue
        if (status !== '304') expect(response.headers.get('cache-control'), response.url).toBe('no-store')
      }
    }
    const garbled = await raw(registry.url, 'BROKEN\r\n\r\n')
    expect(garbled).toMatch(/^HTTP\/1.1 400 /)
    expect(garbled).toContain("content-security-policy: default-src 'none'")
  })

  it('say what the pages may load', async () => {
    const { app } = await mounted()
    const policy = String((await statusOf(app, 'GET', '/hub/', {})).headers['content-security-policy'])
    expect(policy.split('; ').sort()).toEqual(
      [
        "default-src 'none'",
        "script-src 'self'",
        "worker-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        'trusted-types pshub',
      ].sort(),
    )
  })
})

const checkHeaders = (headers: Record<string, unknown>, what: string) => {
  expect(headers, what).toMatchObject({
    'content-security-policy': expect.stringContaining("default-src 'none'; script-src 'self'"),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': expect.any(String),
  })
}

/** What a server answers to bytes that are no request. */
const raw = async (url: string, text: string): Promise<string> => {
  const { connect } = await import('node:net')
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.end(text)
  let answer = ''
  for await (const chunk of socket) answer += chunk
  return answer
}

describe('files of the pages', () => {
  it('are the ones that were built, by their exact names', async () => {
    const registry = await fixture.registry()
    const names = [
      '../index.html',
      '..%2findex.html',
      '%2e%2e/index.html',
      '..%5cindex.html',
      '....//index.html',
      '/etc/passwd',
      '//etc/passwd',
      '%2fetc%2fpasswd',
      '../../package.json',
      '..%2f..%2fpackage.json',
      '%252e%252e%252fpackage.json',
      '..%c0%af..%c0%afpackage.json',
      '..%00/x',
      'x%00.js',
      '%00',
      '.',
      '..',
      '',
      '%2e',
      '%2e%2e',
      '..;/x',
      '.../',
      'file:///etc/passwd',
      'C:%5cx',
      '~root',
      'constructor',
      '__proto__',
      'toString',
      'index.js?../../x',
      '..\\..\\package.json',
    ]
    expect(names).toHaveLength(30)
    for (const name of names) {
      const status = await exactly(`${registry.url}assets/`, name)
      expect([name, [400, 404].includes(status)], String(status)).toEqual([name, true])
    }
  })
})

/** Sends the path as it is written, which fetch would tidy up. */
const exactly = (base: string, name: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const { hostname, port, pathname } = new URL(base)
    httpRequest({ hostname, port, path: pathname + name }, response => {
      response.resume()
      resolve(response.statusCode!)
    })
      .on('error', reject)
      .end()
  })

describe('the query', () => {
  it('may hold anything and gets an answer at once', async () => {
    const registry = await fixture.registry()
    const junk = ['0', '-1', '1e9', 'NaN', '1e400', '', 'x'.repeat(5000), '%00', '[]', '__proto__']
    for (const value of junk) {
      for (const name of ['range', 'task', 'queue', 'topics', 'limit', 'page', '__proto__', 'range[]']) {
        for (const path of ['api/history', 'api/tasks', 'api/slow', 'api/overview']) {
          const response = await registry.get(`${path}?${name}=${value}`)
          expect([200, 400], `${path}?${name}=${value}`).toContain(response.status)
          await response.arrayBuffer()
        }
      }
    }
    expect((await registry.get('api/history?range=15m&range=1d')).status).toBe(400)
    expect((await registry.get('api/history?task=a&task=b')).status).toBe(400)
    expect((await registry.get('api/history?range=1d&queue=q')).status).toBe(200)
  })
})
