import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, it } from 'vitest'
import { maxResultBytes } from '../../registry/server/mcp/tool-call.ts'
import { defineTask, TaskError } from '../../src/index.ts'
import { eventually, failure } from '../support/hub-fixture.ts'
import { refusedByProviders } from '../support/provider-rules.ts'
import { useRegistry } from '../support/registry-fixture.ts'
import { failureIn, toolClient, waiting, ways } from '../support/tool-client.ts'

const fixture = useRegistry()
const numbers = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
  additionalProperties: false,
} as const
const sums = { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] } as const

const add = defineTask(
  'math/add:1.0',
  { description: 'Adds two numbers.', args: numbers, result: sums, idempotent: true },
  ({ a, b }) => ({ sum: a + b }),
)
const union = defineTask(
  'union:1.0',
  { args: { type: 'object', anyOf: [{ required: ['$top'] }, { required: ['größe'] }] } },
  args => args,
)
const pair = defineTask(
  'pair:1.0',
  {
    result: {
      type: 'object',
      properties: { at: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'string' }], items: false } },
      required: ['at'],
    },
  },
  () => ({ at: [1, 'a'] as [number, string] }),
)
const double = defineTask('double:1.0', { args: { type: 'number' } }, n => (n as number) * 2)
const drop = defineTask('drop:1.0', { dangerous: 'Deletes the index.' }, () => 'dropped')
const fail = defineTask('fail:1.0', {}, () => {
  throw new TaskError('There is no such city.', { code: 'NoSuchCity', data: { near: ['Rome'] } })
})
const crash = defineTask('crash:1.0', {}, () => {
  throw new Error('at secret.ts:1')
})
const long = defineTask('long:1.0', {}, () => 'x'.repeat(maxResultBytes))

describe.each(ways)('tools over %s', way => {
  it('are the live tasks, with what these declare', async () => {
    await fixture.worker([add, double, drop])
    const client = await toolClient(fixture, way)
    const { tools } = await client.listTools()
    expect(tools).toEqual([
      {
        name: 'double_1_0',
        title: 'double:1.0',
        description: 'The task double:1.0.',
        inputSchema: { type: 'object', properties: { args: { type: 'number' } }, required: ['args'] },
        annotations: { title: 'double:1.0', idempotentHint: false, destructiveHint: false },
      },
      {
        name: 'math--add_1_0',
        title: 'math/add:1.0',
        description: 'Adds two numbers.\n\nThe task math/add:1.0.',
        inputSchema: numbers,
        outputSchema: sums,
        annotations: { title: 'math/add:1.0', idempotentHint: true, destructiveHint: false },
      },
    ])
    const result = await client.callTool({ name: 'math--add_1_0', arguments: { a: 1, b: 2 } })
    expect(result).toEqual({ structuredContent: { sum: 3 }, content: [{ type: 'text', text: '{"sum":3}' }] })
    expect(await client.callTool({ name: 'double_1_0', arguments: { args: 4 } })).toEqual({
      content: [{ type: 'text', text: '8' }],
    })
  })

  it('take what providers do not take at the top in a field, and say what is wrong with it there', async () => {
    await fixture.worker([union])
    const client = await toolClient(fixture, way)
    const { tools } = await client.listTools()
    expect(tools.flatMap(refusedByProviders)).toEqual([])
    const call = (args: Record<string, unknown>) => client.callTool({ name: 'union_1_0', arguments: args })
    expect(await call({ args: { $top: 1 } })).toMatchObject({ structuredContent: { $top: 1 } })
    expect(failureIn(await call({ args: {} }))).toMatchObject({
      code: 'InvalidArgs',
      message: expect.stringContaining('The arguments of union:1.0: /args/$top is required'),
      data: { problems: expect.arrayContaining([{ pointer: '/args/$top', message: 'is required' }]) },
    })
    expect(failureIn(await call({ $top: 1 }))).toMatchObject({ code: 'InvalidArgs', ran: 'no' })
  })

  it('give tuples that the client can read', async () => {
    await fixture.worker([pair])
    const client = await toolClient(fixture, way)
    expect((await client.listTools()).tools[0]).toHaveProperty('outputSchema')
    expect(await client.callTool({ name: 'pair_1_0' })).toMatchObject({ structuredContent: { at: [1, 'a'] } })
  })

  it('are given up when the client gives up: the handler is told', async () => {
    const { task, seen } = waiting()
    await fixture.worker([task])
    const client = await toolClient(fixture, way)
    const giving = new AbortController()
    const call = failure(client.callTool({ name: 'wait_1_0' }, undefined, { signal: giving.signal }))
    await eventually(() => seen.includes('begun'))
    giving.abort()
    await call
    await eventually(() => seen.includes('aborted'))
  })
})

/* How they come to an agent makes no other difference. */
describe('tools', () => {
  it('are the allowed ones, and of dangerous ones those that are named', async () => {
    await fixture.worker([add, double, drop])
    const client = await toolClient(fixture, 'http', 'math/*,drop:1.0')
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['drop_1_0', 'math--add_1_0'])
    expect(tools[0]).toMatchObject({
      description: 'The task drop:1.0.\n\nDangerous: Deletes the index.',
      annotations: { destructiveHint: true },
    })
    expect(await client.callTool({ name: 'drop_1_0' })).toMatchObject({ content: [{ text: '"dropped"' }] })
    const refused = await failure(client.callTool({ name: 'double_1_0', arguments: { args: 4 } }))
    expect(refused.message).toContain('There is no tool "double_1_0"; list')
  })

  it('of a dangerous task are not there for a pattern, and cannot be called by their name', async () => {
    await fixture.worker([drop])
    const client = await toolClient(fixture, 'http', '*,drop*')
    expect(await client.listTools()).toEqual({ tools: [] })
    expect((await failure(client.callTool({ name: 'drop_1_0' }))).message).toContain('There is no tool')
  })

  it('come and go with their workers, and clients are told', async () => {
    const client = await toolClient(fixture, 'http')
    let changes = 0
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void changes++)
    expect(await client.listTools()).toEqual({ tools: [] })
    const worker = await fixture.worker([double])
    await eventually(() => changes === 1)
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['double_1_0'])
    await worker.stop()
    await eventually(() => changes === 2)
    expect(await client.listTools()).toEqual({ tools: [] })
  })

  it('tell the model what failed, whether it ran, and no stack', async () => {
    await fixture.worker([add, fail, crash, long])
    const client = await toolClient(fixture, 'http')
    const run = async (name: string, args = {}) => failureIn(await client.callTool({ name, arguments: args }))
    expect(await run('fail_1_0')).toMatchObject({
      code: 'NoSuchCity',
      message: 'There is no such city.',
      ran: 'yes',
      retryable: false,
      data: { near: ['Rome'] },
    })
    expect(await run('math--add_1_0', { a: 1 })).toMatchObject({
      code: 'InvalidArgs',
      ran: 'no',
      data: { problems: [{ pointer: '/b', message: 'is required' }] },
    })
    expect(await run('crash_1_0')).toEqual({
      code: 'TaskFailed',
      message: expect.not.stringContaining('\n'),
      ran: 'yes',
      retryable: false,
    })
    expect(await run('long_1_0')).toMatchObject({
      code: 'InvalidResult',
      ran: 'yes',
      message: expect.stringMatching(/has 262146 bytes but the limit for agents is 262144/),
    })
  })

  it('are listed though a schema is not what clients can read', async () => {
    const odd = {
      args: { type: 'object', properties: { any: true, none: false } },
      result: { type: 'object', properties: { code: { enum: [] } } },
    } as const
    await fixture.worker([defineTask('odd:1.0', { args: odd.args }, () => ({ code: 'a' }))])
    // A worker of another language may have declared what does not compile here.
    const key = `${fixture.namespace}:tasks`
    const [field, text] = Object.entries(await fixture.redis.hgetall(key))[0]!
    await fixture.redis.hset(key, field, JSON.stringify({ ...JSON.parse(text), result: odd.result }))
    const client = await toolClient(fixture, 'http')
    const { tools } = await client.listTools()
    expect(tools[0]).toMatchObject({
      name: 'odd_1_0',
      inputSchema: { type: 'object', properties: { any: {}, none: { not: {} } } },
    })
    expect(tools[0]).not.toHaveProperty('outputSchema')
    expect(await client.callTool({ name: 'odd_1_0' })).toMatchObject({ structuredContent: { code: 'a' } })
  })
})
