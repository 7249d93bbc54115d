import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { ensureBuild, root } from '../support/cli-fixture.ts'
import { bearer, json, type TestRegistry, useRegistry } from '../support/registry-fixture.ts'
import { mainProgram } from '../support/tool-client.ts'

/** Numbers pass what stands between callers and workers as they are written, in arguments and in results. */
const fixture = useRegistry()
const numbers = '{"id":1253261109769874438,"zero":-0,"huge":1e400,"one":1.0,"list":[9007199254740993,{"x":2.50}]}'
const echo = defineTask('echo:1.0', { retries: 0, result: { type: 'object' } }, args => args as object as never)
const parts = defineTask('parts:1.0', {}, function* (args) {
  yield args
})

const started = async (): Promise<TestRegistry> => {
  await fixture.worker([echo, parts], { bigint: 'exact', queue: 'q' })
  return fixture.registry()
}
const post = async (registry: TestRegistry, path: string, body: string, headers = {}) =>
  (await registry.post(path, body, { headers })).text()

const initialize =
  '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}'
const ask = (registry: TestRegistry, body: string, headers = {}) => {
  const accept = 'application/json, text/event-stream'
  return fetch(registry.at('mcp'), { method: 'POST', headers: { ...json, ...bearer('run'), accept, ...headers }, body })
}
const sessionOf = async (registry: TestRegistry): Promise<object> => {
  const session = (await ask(registry, initialize)).headers.get('mcp-session-id')
  return session === null ? {} : { 'mcp-session-id': session }
}

describe('numbers', () => {
  it('of a schema are told as its worker wrote them', async () => {
    await fixture.worker([defineTask('big:1.0', {}, () => 0)])
    const registry = await fixture.registry()
    const schema = '{"type":"object","properties":{"n":{"type":"integer","maximum":9223372036854775807}}}'
    const card = `{"task":"big:1.0","queue":"q","digest":"0","args":${schema},"result":${schema}}`
    await fixture.redis.hset(`${fixture.namespace}:tasks`, 'big:1.0', card)
    for (const path of ['api/tasks/big:1.0', 'openapi.json'])
      expect((await (await registry.get(path)).text()).split(schema), path).toHaveLength(
        path === 'openapi.json' ? 3 : 5,
      )
    const list = '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
    const tools = await (await ask(registry, list, await sessionOf(registry))).text()
    expect(tools.split(schema)).toHaveLength(3)
  })

  it('pass the gateway, also in streams', async () => {
    const registry = await started()
    expect(await post(registry, 'api/call/echo:1.0', numbers)).toBe(numbers)
    for (const accept of ['text/event-stream', 'application/x-ndjson'])
      for (const task of ['echo:1.0', 'parts:1.0'])
        expect(await post(registry, `api/call/${task}`, numbers, { accept })).toContain(numbers)
  })

  it('are enqueued, scheduled and kept as they are', async () => {
    const registry = await started()
    const { id } = JSON.parse(
      await post(registry, 'api/enqueue/echo:1.0', `{"args":${numbers},"options":{"tracked":true,"delayMs":1.0}}`),
    )
    const job = await fixture.hub({ bigint: 'exact' }).job(id)
    await job.result()
    expect(await (await registry.get(`api/jobs/${id}?queue=q`)).text()).toContain(JSON.stringify(numbers))
    const schedule = `{"name":"s","cron":"0 0 1 1 *","task":"echo:1.0","queue":"q","args":${numbers}}`
    expect(await post(registry, 'api/schedules', schedule)).toContain(numbers)
    expect(await (await registry.get('api/schedules')).text()).toContain(numbers)
    await registry.post('api/schedules/q/s/remove', {})
    await post(registry, 'api/templates/echo:1.0', `{"name":"t","args":${numbers}}`)
    expect(await (await registry.get('api/templates/echo:1.0')).text()).toContain(numbers)
    await registry.post('api/template-removal/echo:1.0', { name: 't' })
    fixture.allowLeftovers()
  })

  const call = (id: number) =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo_1_0","arguments":${numbers}}}`
  const expectExact = (said: string) => {
    expect(said).toContain(`"structuredContent":${numbers}`)
    expect(said).toContain(`"text":${JSON.stringify(numbers)}`)
  }

  it('pass tools over HTTP', async () => {
    const registry = await started()
    expectExact(await (await ask(registry, call(2), await sessionOf(registry))).text())
  })

  it('pass tools over stdio', async () => {
    await fixture.worker([echo], { bigint: 'exact' })
    ensureBuild()
    const env = { PATH: process.env.PATH!, PSHUB_REDIS: fixture.url, PSHUB_NAMESPACE: fixture.namespace }
    const tools = spawn(process.execPath, [mainProgram, 'mcp'], { env, cwd: root, stdio: ['pipe', 'pipe', 'inherit'] })
    fixture.onEnd(() => tools.kill())
    let said = ''
    tools.stdout.setEncoding('utf8').on('data', text => {
      said += text
      if (said.includes('"id":2')) tools.stdin.end()
    })
    tools.stdin.write(`${initialize}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n${call(2)}\n`)
    await once(tools, 'exit')
    expectExact(said)
  })
})
