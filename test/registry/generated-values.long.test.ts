import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { generatedValues, saysTheSame } from '../support/generated-values.mjs'
import { bearer, json, useRegistry } from '../support/registry-fixture.ts'

/** Generated values through what stands between callers and workers; between languages they go in the checks of conformance. */
const fixture = useRegistry()
const echo = defineTask('echo:1.0', { retries: 0 }, args => args)
/** The HTTP server takes no `constructor` with a `prototype`. */
const isRefused = (text: string) => text.includes('"constructor":') && text.includes('"prototype":')
/** Values that nothing here may refuse, many in one call. */
const lists = (seed: number, count: number): string[] => {
  const texts = generatedValues(seed, count).flatMap(({ text, mayBeRefused }) =>
    mayBeRefused || isRefused(text) ? [] : [text],
  )
  return Array.from({ length: Math.ceil(texts.length / 50) }, (_, n) => `[${texts.slice(n * 50, n * 50 + 50)}]`)
}

describe('generated values come back equal', () => {
  it('through the gateway, and its streams', async () => {
    await fixture.worker([echo], { bigint: 'bigint' })
    const registry = await fixture.registry({ maxRunsPerSecond: 1_000_000 })
    for (const text of lists(1, 5000)) {
      const answer = await registry.post('api/call/echo:1.0', text)
      const result = await answer.text()
      expect(answer.status, result).toBe(200)
      expect(saysTheSame(result, text), text).toBe(true)
      const streamed = await registry.post('api/call/echo:1.0', text, { headers: { accept: 'application/x-ndjson' } })
      expect(await streamed.text()).toContain(`{"result":${result},`)
    }
  })

  it('through tools over HTTP', async () => {
    await fixture.worker([echo], { bigint: 'bigint' })
    const registry = await fixture.registry({ maxRunsPerSecond: 1_000_000 })
    const accept = 'application/json, text/event-stream'
    const ask = (method: string, params: string, headers = {}) =>
      fetch(registry.at('mcp'), {
        method: 'POST',
        headers: { ...json, ...bearer('run'), accept, ...headers },
        body: `{"jsonrpc":"2.0","id":1,"method":"${method}","params":${params}}`,
      })
    const begun = await ask(
      'initialize',
      '{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}',
    )
    const session = begun.headers.get('mcp-session-id')
    for (const text of lists(2, 5000)) {
      const params = `{"name":"echo_1_0","arguments":{"args":${text},"list":${text}}}`
      const said = await (await ask('tools/call', params, session === null ? {} : { 'mcp-session-id': session })).text()
      const found = /"structuredContent":(\{.*\})\},"jsonrpc"/s.exec(said)?.[1] ?? 'null'
      expect(saysTheSame(found, `{"args":${text},"list":${text}}`), said).toBe(true)
    }
  })
})
