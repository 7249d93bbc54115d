import fastify, { type FastifyInstance } from 'fastify'
import { registry as plugin } from 'pshub-registry'
import type { Role } from '../../registry/contract.ts'
import { type RegistryFixture, tokens } from './registry-fixture.ts'

export interface Route {
  method: string
  url: string
}

/** The plugin in a server that is asked without a network, and the routes that it has, from fastify itself. */
export const mountIn =
  (fixture: RegistryFixture) =>
  async (options: object = {}, prefix = '/hub'): Promise<{ app: FastifyInstance; routes: Route[] }> => {
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

export const home = '127.0.0.1:7421'
/** A session's cookie, as a login at `home` gives it. */
export const cookieOf = async (app: FastifyInstance, role: Role, base = '/hub/'): Promise<{ cookie: string }> => {
  const headers = { host: home, 'content-type': 'application/json' }
  const payload = JSON.stringify({ token: tokens[role] })
  const response = await app.inject({ method: 'POST', url: `${base}api/login`, headers, payload })
  return { cookie: String(response.headers['set-cookie']).split(';')[0]! }
}

/** An address for a route, with something that is there in the place of its parameter. */
export const addressOf = ({ url }: Route) =>
  url
    .replace('/api/call/*', '/api/call/echo:1.0')
    .replace('/api/tasks/*', '/api/tasks/echo:1.0')
    .replace('/api/enqueue/*', '/api/enqueue/echo:1.0')
    .replace(/\/api\/(templates|template-removal)\/\*/, '/api/$1/echo:1.0')
    .replace(/:(queue|name|id)\//g, 'x/')
    .replace(/[:*][a-z]*$/, 'x')

export const unsafe = ['POST', 'PUT', 'PATCH', 'DELETE']
export const statusOf = async (app: FastifyInstance, method: string, url: string, headers: Record<string, string>) => {
  // A stream never ends: it is asked for over the network.
  const payload = unsafe.includes(method) ? { payload: '{}' } : {}
  const response = await app.inject({ method: method as 'GET', url, headers: { host: home, ...headers }, ...payload })
  return response
}

/** What a server answers to bytes that are no request. */
export const raw = async (url: string, text: string): Promise<string> => {
  const { connect } = await import('node:net')
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.end(text)
  let answer = ''
  for await (const chunk of socket) answer += chunk
  return answer
}
