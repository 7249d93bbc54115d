import { createHash } from 'node:crypto'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import fastify from 'fastify'
import { registry } from 'pshub-registry'
import { describe, expect, it } from 'vitest'
import type { Role } from '../../registry/contract.ts'
import { defineTask } from '../../src/index.ts'
import { eventually } from '../support/hub-fixture.ts'
import { bearer, clientOf, json, jsonOf, type TestRegistry, tokens, useRegistry } from '../support/registry-fixture.ts'
import { failureIn, httpTransport, waiting } from '../support/tool-client.ts'

const fixture = useRegistry()
const echo = defineTask('echo:1.0', {}, value => value)

const accept = { accept: 'application/json, text/event-stream' }
const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } },
}
const listTools = { jsonrpc: '2.0', id: 2, method: 'tools/list' }

const connected = async (running: TestRegistry, role: Role = 'run') => {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const transport = httpTransport(running.at('mcp'), role)
  await client.connect(transport as never)
  fixture.onEnd(() => client.close())
  return { client, transport }
}

describe('tools over HTTP', () => {
  it('are for those who may run tasks, and send a bearer token', async () => {
    const running = await fixture.registry()
    const begin = (headers: Record<string, string>) =>
      fetch(running.at('mcp'), {
        method: 'POST',
        headers: { ...json, ...accept, ...headers },
        body: JSON.stringify(initialize),
      })
    const sameSite = { 'sec-fetch-site': 'same-origin' }
    const statuses = {
      admin: (await begin(bearer('admin'))).status,
      run: (await begin(bearer('run'))).status,
      view: (await begin(bearer('view'))).status,
      nobody: (await begin({})).status,
      page: (await begin({ cookie: await running.logIn('run'), ...sameSite })).status,
      otherSite: (await begin({ ...bearer('run'), origin: 'http://evil.example' })).status,
    }
    expect(statuses).toEqual({ admin: 200, run: 200, view: 403, nobody: 401, page: 401, otherSite: 403 })
    expect((await running.get('mcp', 'view')).status).toBe(403)
  })

  it('are not there where nobody may run anything', async () => {
    const running = await fixture.registry({ readOnly: true })
    const refused = await running.post('mcp', initialize, { headers: accept })
    expect([refused.status, (await jsonOf(refused)).error.code]).toEqual([403, 'Forbidden'])
  })

  it('are in sessions that only the token reaches that began them, until they are ended', async () => {
    await fixture.worker([echo])
    const running = await fixture.registry()
    const { client, transport } = await connected(running)
    expect((await client.listTools()).tools).toHaveLength(1)
    const session = { ...accept, 'mcp-session-id': transport.sessionId! }
    const list = (role: Role) => running.post('mcp', listTools, { role, headers: session })
    expect((await list('run')).status).toBe(200)
    expect((await list('admin')).status).toBe(404)
    await transport.terminateSession()
    expect((await list('run')).status).toBe(404)
    const without = await running.post('mcp', listTools, { role: 'run', headers: accept })
    expect(without.status).toBe(400)
  })

  it('count as runs of their token, beside those of the gateway', async () => {
    await fixture.worker([echo])
    const running = await fixture.registry({ maxRunsPerSecond: 1 })
    const { client } = await connected(running)
    const call = () => client.callTool({ name: 'echo_1_0' })
    expect(await call()).not.toHaveProperty('isError')
    expect(failureIn(await call())).toEqual({
      code: 'TooManyRequests',
      message: expect.stringContaining('again in 1 s'),
    })
    expect((await running.post('api/call/echo:1.0', {}, { role: 'run' })).status).toBe(429)
  })

  it('are logged as runs: who, what, how it ended, and no arguments', async () => {
    await fixture.worker([echo])
    let text = ''
    const app = fastify({ logger: { level: 'warn', stream: { write: (line: string) => void (text += line) } } })
    const hub = { redis: fixture.url, namespace: fixture.namespace, logLevel: 'silent' }
    await app.register(registry, { prefix: '/tasks', hub, runToken: tokens.run })
    const url = `${await app.listen({ port: 0 })}/tasks/`
    fixture.onEnd(() => app.close())
    const { client } = await connected(clientOf({ url, token: undefined, code: undefined, close: () => app.close() }))
    const args = { secret: 'canary-7421' }
    await client.callTool({ name: 'echo_1_0', arguments: args })
    const runs = text.split('\n').flatMap(line => (line.includes('"audit":"run"') ? [JSON.parse(line)] : []))
    expect(runs).toMatchObject([
      {
        msg: 'task run by an agent',
        who: expect.stringMatching(/^run:[0-9a-f]{8}$/),
        address: '127.0.0.1',
        task: 'echo:1.0',
        argsHash: createHash('sha256').update(JSON.stringify(args)).digest('hex').slice(0, 12),
        code: 'ok',
        ms: expect.any(Number),
      },
    ])
    expect(text).not.toMatch(/canary|the-token-of/)
  })

  it('give up what runs when their session is ended, and when the service is', async () => {
    // What a worker answers to a hub that has gone expires by itself.
    fixture.allowLeftovers()
    const { task, seen } = waiting()
    await fixture.worker([task])
    const running = await fixture.registry()
    for (const end of ['session', 'service']) {
      seen.length = 0
      const { client, transport } = await connected(running)
      const over = client.callTool({ name: 'wait_1_0' }).catch(() => undefined)
      await eventually(() => seen.includes('begun'))
      if (end === 'session') await transport.terminateSession()
      else await running.close()
      await eventually(() => seen.includes('aborted'))
      await client.close()
      await over
    }
  })

  it('leave the oldest idle session when a token has too many', async () => {
    const running = await fixture.registry()
    const begin = async () => {
      const response = await running.post('mcp', initialize, { role: 'run', headers: accept })
      await response.text()
      return response.headers.get('mcp-session-id')!
    }
    const list = async (id: string) => {
      const headers = { ...accept, 'mcp-session-id': id }
      return (await running.post('mcp', listTools, { role: 'run', headers })).status
    }
    const first = await begin()
    const second = await begin()
    expect([await list(first), await list(second)]).toEqual([200, 200])
    for (let count = 2; count < 101; count++) await begin()
    expect([await list(first), await list(second)]).toEqual([404, 200])
  })
})
