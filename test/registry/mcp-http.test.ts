import { createHash } from 'node:crypto'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js'
import fastify from 'fastify'
import { registry } from 'pshub-registry'
import { describe, expect, it, vi } from 'vitest'
import type { Role } from '../../registry/contract.ts'
import { defineTask } from '../../src/index.ts'
import { eventually, failure } from '../support/hub-fixture.ts'
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

const connected = async (running: TestRegistry, role: Role = 'run', over?: FetchLike) => {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const transport = httpTransport(running.at('mcp'), role, over)
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
    expect([refused.status, (await jsonOf(refused)).code]).toEqual([403, 'Forbidden'])
  })

  it('are served by any registry: a session is never over, and a run is cancelled wherever that is said', async () => {
    const { task, seen } = waiting()
    await fixture.worker([echo, task])
    const registries = [await fixture.registry(), await fixture.registry()]
    let count = 0
    /** As a balancer does that knows nothing of sessions. */
    const balanced = (url: string | URL, init?: RequestInit) =>
      fetch(registries[count++ % registries.length]!.at(new URL(url).pathname.slice(1)), init)
    const { client, transport } = await connected(registries[0]!, 'run', balanced)
    for (let run = 0; run < 4; run++)
      expect(await client.callTool({ name: 'echo_1_0', arguments: { run } })).toMatchObject({
        structuredContent: { run },
      })
    const giving = new AbortController()
    const call = failure(client.callTool({ name: 'wait_1_0' }, undefined, { signal: giving.signal }))
    await eventually(() => seen.includes('begun'))
    giving.abort()
    await call
    await eventually(() => seen.includes('aborted'))

    await registries.shift()!.close()
    expect((await client.listTools()).tools).toHaveLength(2)
    const again = await registries[0]!.post('mcp', initialize, {
      role: 'run',
      headers: { ...accept, 'mcp-session-id': transport.sessionId! },
    })
    expect(again.status).toBe(200)
    expect(again.headers.get('mcp-session-id')).toMatch(/^[0-9a-f-]{45}$/)
  })

  it('are cancelled by their own token alone', async () => {
    const { task, seen } = waiting()
    await fixture.worker([task])
    const running = await fixture.registry()
    const headers = { ...accept, 'mcp-session-id': 'one' }
    const params = { name: 'wait_1_0' }
    const call = running.post('mcp', { jsonrpc: '2.0', id: 7, method: 'tools/call', params }, { role: 'run', headers })
    await eventually(() => seen.includes('begun'))
    const cancelled = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } }
    const cancel = async (role: Role) => (await running.post('mcp', cancelled, { role, headers })).status
    expect([await cancel('admin'), seen.includes('aborted'), await cancel('run')]).toEqual([202, false, 202])
    await eventually(() => seen.includes('aborted'))
    expect(await (await call).text()).toBe('')
  })

  it('are told to be others to a client whose stream was broken off', async () => {
    const running = await fixture.registry()
    const headers = { ...bearer('run'), accept: 'text/event-stream', 'mcp-session-id': 'of-another-registry' }
    const stream = await fetch(running.at('mcp'), { headers })
    const reader = stream.body!.getReader()
    expect(new TextDecoder().decode((await reader.read()).value)).toContain('notifications/tools/list_changed')
    await reader.cancel()
  })

  it('count as runs of their token, beside those of the gateway', async () => {
    await fixture.worker([echo])
    const running = await fixture.registry({ maxRunsPerSecond: 1 })
    const { client } = await connected(running)
    // All within one second of the limit, however long this machine takes for it.
    vi.useFakeTimers({ toFake: ['Date'] })
    fixture.onEnd(() => vi.useRealTimers())
    const call = () => client.callTool({ name: 'echo_1_0' })
    expect(await call()).not.toHaveProperty('isError')
    expect(failureIn(await call())).toEqual({
      code: 'TooManyRequests',
      message: expect.stringContaining('retry in 1 s'),
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

  it('give up what runs when their session is ended, and when their client has gone', async () => {
    fixture.allowLeftovers()
    const { task, seen } = waiting()
    await fixture.worker([task])
    const running = await fixture.registry()
    for (const end of ['session', 'client']) {
      seen.length = 0
      const { client, transport } = await connected(running)
      const over = client.callTool({ name: 'wait_1_0' }).catch(() => undefined)
      await eventually(() => seen.includes('begun'))
      if (end === 'session') await transport.terminateSession()
      else await client.close()
      await eventually(() => seen.includes('aborted'))
      await client.close()
      await over
    }
  })

  it('tell what runs that it ends with the service', async () => {
    // What a worker answers to a hub that has gone expires by itself.
    fixture.allowLeftovers()
    const { task, seen } = waiting()
    await fixture.worker([task])
    const running = await fixture.registry()
    const { client } = await connected(running)
    const call = client.callTool({ name: 'wait_1_0' })
    await eventually(() => seen.includes('begun'))
    await running.close()
    expect(failureIn(await call)).toEqual({
      code: 'OutcomeUnknown',
      message: 'The registry stopped while this was running.',
      ran: 'maybe',
      retryable: false,
    })
    await eventually(() => seen.includes('aborted'))
  })

  it('have so many listeners of a token, and no more', async () => {
    const running = await fixture.registry()
    const gone = new AbortController()
    const listen = async () => {
      const headers = { ...bearer('run'), accept: 'text/event-stream' }
      return (await fetch(running.at('mcp'), { headers, signal: gone.signal })).status
    }
    const statuses = []
    for (let count = 0; count < 101; count++) statuses.push(await listen())
    expect(statuses.slice(98)).toEqual([200, 200, 503])
    gone.abort()
    await eventually(
      async () =>
        (await fetch(running.at('mcp'), { headers: { ...bearer('run'), accept: 'text/event-stream' } })).status === 200,
    )
  })
})
