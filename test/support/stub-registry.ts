import { existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { join, resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Session } from '../../registry/contract.ts'
import { HistoryStore } from '../../registry/server/history.ts'
import { taskDetail } from '../../registry/server/task-detail.ts'
import { errorTable, type Hub, HubError } from '../../src/index.ts'

const built = resolve(import.meta.dirname, '../../dist/registry/web')
const types = { js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' } as Record<string, string>
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

/** The pages over a hub of the test's own, without a login. */
export const startStub = async (hub: Hub, session: Partial<Session> = {}) => {
  const history = new HistoryStore()
  const json = (response: ServerResponse, status: number, value: unknown, headers = {}) =>
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(value))
  const call = async (request: IncomingMessage, response: ServerResponse, task: string) => {
    const gone = new AbortController()
    response.on('close', () => gone.abort())
    const timeoutMs = request.headers['pshub-timeout-ms']
    const args = JSON.parse(await text(request))
    try {
      const { result, phases } = await hub.call(task, args, {
        signal: gone.signal,
        phases: true,
        ...(timeoutMs === undefined ? {} : { timeoutMs: Number(timeoutMs) }),
      })
      json(response, 200, result, { 'pshub-id': 'an-id', 'pshub-phases': JSON.stringify(phases) })
    } catch (error) {
      const { code, ran, status, phases } = error as HubError
      const told = { ...(error as HubError).toJSON(), ran, meaning: errorTable[code].meaning }
      json(response, status, { error: told }, phases ? { 'pshub-phases': JSON.stringify(phases) } : {})
    }
  }
  const server = createServer((request, response) => {
    response.setHeader('content-security-policy', policy)
    const path = decodeURIComponent(new URL(request.url!, 'http://x').pathname)
    if (path === '/api/session')
      return json(response, 200, { role: 'admin', readOnly: false, namespace: 'pshub', version: '0', ...session })
    if (path === '/api/live') return response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    if (path.startsWith('/api/call/')) return void call(request, response, path.slice(10))
    if (path.startsWith('/api/tasks/'))
      return void hub
        .overview()
        .then(overview => taskDetail(hub, { overview } as never, history, path.slice(11)))
        .then(detail => json(response, detail ? 200 : 404, detail ?? {}))
    const file = /^\/assets\/([\w.-]+)$/.exec(path)?.[1]
    if (file && existsSync(join(built, 'assets', file)))
      return response
        .writeHead(200, { 'content-type': types[file.split('.').pop()!] })
        .end(readFileSync(join(built, 'assets', file)))
    if (path.startsWith('/api/')) return json(response, 404, {})
    const html = readFileSync(join(built, 'index.html'), 'utf8').replaceAll('./assets/', '/assets/')
    return response.writeHead(200, { 'content-type': 'text/html' }).end(html)
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as { port: number }
  return {
    url: `http://127.0.0.1:${port}/`,
    close: () => {
      server.closeAllConnections()
      return new Promise(done => server.close(done))
    },
  }
}
