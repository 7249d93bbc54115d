import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import type { Progress } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, it } from 'vitest'
import { maxResultBytes } from '../../registry/server/mcp/tool-call.ts'
import { defineTask, TaskError } from '../../src/index.ts'
import { delay } from '../support/delay.ts'
import { eventually, failure } from '../support/hub-fixture.ts'
import { useRegistry } from '../support/registry-fixture.ts'
import { failureIn, toolClient, ways } from '../support/tool-client.ts'

const fixture = useRegistry()

/** What the client of a test was told; handlers wait for that, as more often than four times a second it is told nothing. */
let heard: Progress[] = []
const isHeard = (count: number) => eventually(() => heard.length >= count)

const pages = defineTask('pages:1.0', { timeoutMs: 20_000, idempotent: true }, async (_, ctx) => {
  ctx.progress({ done: 1, total: 3, message: 'page 1' })
  await isHeard(1)
  await delay(300, 'progress is told four times a second at most')
  ctx.progress({ done: 1, total: 3, message: 'again' })
  await delay(300, 'progress is told four times a second at most')
  ctx.progress({ done: 3, total: 3 })
  await isHeard(2)
  return 'read'
})
const words = defineTask('words:1.0', { timeoutMs: 20_000 }, async function* (args) {
  const { isPaced = false, returned } = args as { isPaced?: boolean; returned?: unknown }
  yield 'to'
  if (isPaced) await isHeard(1)
  yield { text: 'be' }
  if (isPaced) await isHeard(2)
  return returned
})
const long = defineTask('long:1.0', { timeoutMs: 20_000 }, async function* (args) {
  const { returned } = args as { returned?: unknown }
  for (let n = 0; n < 40; n++) yield 'x'.repeat(10_000)
  return returned
})
const fails = defineTask('fails:1.0', {}, async function* () {
  yield 1
  throw new TaskError('no luck', { code: 'NoLuck' })
})

/** Calls a tool as an agent does that shows progress. */
const told = async (client: Client, name: string, args = {}, signal?: AbortSignal) => {
  const progress: Progress[] = []
  heard = progress
  const onprogress = (each: Progress) => void progress.push(each)
  const options = { onprogress, ...(signal && { signal }) }
  const result = await client.callTool({ name, arguments: args }, undefined, options)
  return { progress, result }
}

describe.each(ways)('a tool over %s', way => {
  it('that yields tells each chunk, and its result is what it returns or the list', async () => {
    await fixture.worker([words])
    const client = await toolClient(fixture, way)
    const { progress, result } = await told(client, 'words_1_0', { isPaced: true })
    expect(progress).toEqual([
      { progress: 1, message: 'to' },
      { progress: 2, message: '{"text":"be"}' },
    ])
    expect(result).toEqual({ content: [{ type: 'text', text: '["to",{"text":"be"}]' }] })
    const returned = { count: 2 }
    expect((await told(client, 'words_1_0', { returned })).result).toMatchObject({ structuredContent: returned })
    const unasked = await client.callTool({ name: 'words_1_0', arguments: {} })
    expect(unasked).toEqual(result)
    // Nothing and null are the same, for who reads the stream and for who does not.
    const none = { returned: null }
    expect((await told(client, 'words_1_0', none)).result).toEqual(result)
    expect(await client.callTool({ name: 'words_1_0', arguments: none })).toEqual(result)
    expect(await fixture.hub().call('words:1.0', none)).toEqual(['to', { text: 'be' }])
  })
})

/* How they come to an agent makes no other difference. */
describe('a tool', () => {
  it('tells a client that asks how far its handler is, and never goes back', async () => {
    await fixture.worker([pages])
    const { progress, result } = await told(await toolClient(fixture, 'http'), 'pages_1_0')
    expect(progress).toEqual([
      { progress: 1, total: 3, message: 'page 1' },
      { progress: 3, total: 3 },
    ])
    expect(result).toEqual({ content: [{ type: 'text', text: '"read"' }] })
  })

  it('that yields too much is refused, unless it returns something', async () => {
    await fixture.worker([long])
    const client = await toolClient(fixture, 'http')
    expect(failureIn((await told(client, 'long_1_0')).result)).toMatchObject({
      code: 'InvalidResult',
      ran: 'yes',
      message: expect.stringContaining(`has 400121 bytes but the limit for agents is ${maxResultBytes}`),
    })
    expect((await told(client, 'long_1_0', { returned: 'all' })).result).toMatchObject({ content: [{ text: '"all"' }] })
  })

  it('that fails behind its chunks tells the failure', async () => {
    await fixture.worker([fails])
    const { result } = await told(await toolClient(fixture, 'http'), 'fails_1_0')
    expect(failureIn(result)).toMatchObject({ code: 'NoLuck', ran: 'yes', message: 'no luck' })
  })

  it.each([true, false])(
    'that yields without end stops when its client gives up (asked for progress: %s)',
    async asks => {
      const seen = { yielded: 0, hasEnded: false }
      const endless = defineTask('endless:1.0', { timeoutMs: 30_000 }, async function* () {
        try {
          for (;;) {
            yield ++seen.yielded
            await delay(10, 'a handler that yields now and then')
          }
        } finally {
          seen.hasEnded = true
        }
      })
      await fixture.worker([endless])
      const client = await toolClient(fixture, 'http')
      const giving = new AbortController()
      const call = asks
        ? told(client, 'endless_1_0', {}, giving.signal)
        : client.callTool({ name: 'endless_1_0' }, undefined, { signal: giving.signal })
      const failed = failure(call)
      await eventually(() => seen.yielded > 20)
      giving.abort()
      await failed
      await eventually(() => seen.hasEnded)
    },
  )
})
