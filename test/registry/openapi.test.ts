import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { movedSchema } from '../../src/task/local-references.ts'
import type { JsonSchema } from '../../src/task/schema.ts'
import { errorTable } from '../../src/wire/errors.ts'
import { jsonOf, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()

const tree = {
  $id: 'https://example.com/tree',
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  properties: {
    name: { $ref: '#/$defs/na~1me' },
    children: { type: 'array', items: { $ref: '#' } },
    $ref: { type: 'string' },
  },
  required: ['name'],
  $defs: { 'na/me': { $anchor: 'name', type: 'string', minLength: 1 }, byAnchor: { $ref: '#name' } },
  examples: [{ $ref: '#/nowhere' }],
}

/** All references of a document, with where they are. */
const referencesIn = (value: unknown, found: string[] = []): string[] => {
  if (typeof value !== 'object' || value === null) return found
  for (const [key, inner] of Object.entries(value)) {
    if (key === '$ref' && typeof inner === 'string') found.push(inner)
    else if (key !== 'examples') referencesIn(inner, found)
  }
  return found
}

const at = (document: unknown, reference: string): unknown =>
  reference
    .slice(2)
    .split('/')
    .map(part => decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((value, key) => (value as Record<string, unknown> | undefined)?.[key], document)

describe('/openapi.json', () => {
  it('says what a task yields, and in which types it can be asked for', async () => {
    const yields = { ...tree, description: 'a chunk' } as JsonSchema
    await fixture.worker([
      defineTask('rows:1.0', { yields }, function* () {}),
      defineTask('any:1.0', {}, function* () {}),
      defineTask('none:1.0', {}, () => 1),
    ])
    const registry = await fixture.registry()
    const document = await jsonOf(await registry.get('openapi.json', 'view'))
    const posts = (document.paths as Record<string, { post: Record<string, unknown> }>)!
    const told = (task: string) => posts[`/api/call/${task}`]!.post['x-pshub-yields']
    expect([told('any:1.0'), told('none:1.0')]).toEqual([true, undefined])
    const { $ref } = told('rows:1.0') as { $ref: string }
    expect(at(document, $ref)).toMatchObject({ description: 'a chunk', properties: { children: { items: { $ref } } } })
    for (const reference of referencesIn(document)) expect(at(document, reference), reference).toBeTypeOf('object')
    const typesOf = (task: string) =>
      Object.keys(
        (posts[`/api/call/${task}`]!.post as { responses: { 200: { content: object } } }).responses[200].content,
      )
    expect(typesOf('rows:1.0')).toEqual(['application/json', 'text/event-stream', 'application/x-ndjson'])
    expect(typesOf('none:1.0')).toEqual(['application/json'])
    const detail = async (task: string) => (await jsonOf(await registry.get(`api/tasks/${task}`, 'view'))).yields
    expect([await detail('rows:1.0'), await detail('any:1.0'), await detail('none:1.0')]).toEqual([
      yields,
      true,
      undefined,
    ])
  })

  it('describes each live task, with references that lead somewhere and names that are unique', async () => {
    await fixture.worker([
      defineTask(
        'tree/size:1.0',
        { description: '# Counts\nall of them', args: tree as JsonSchema, result: { type: 'integer' } },
        () => 1,
      ),
      defineTask('tree.size:1.0', { args: { type: 'object' } }, () => 1),
      defineTask('tree_size:1.0', { idempotent: true }, () => 1),
    ])
    const gone = await fixture.worker([defineTask('gone:1.0', {}, () => 1)], { queue: 'other' })
    await gone.stop({ graceMs: 0 })
    const registry = await fixture.registry({ basePath: '/hub' })
    const document = await jsonOf(await registry.get('openapi.json', 'view'))
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { title: `Tasks of ${fixture.namespace}` },
      security: [{ token: [] }],
    })
    expect(document.servers).toEqual([{ url: registry.url.replace(/\/$/, '') }])
    expect(Object.keys(document.paths).sort()).toEqual(
      ['tree/size:1.0', 'tree.size:1.0', 'tree_size:1.0'].map(task => `/api/call/${task}`).sort(),
    )
    const operations = Object.values<{ post: { operationId: string; responses: object } }>(document.paths).map(
      ({ post }) => post,
    )
    const ids = operations.map(({ operationId }) => operationId)
    expect(new Set(ids).size).toBe(3)
    for (const { responses } of operations) {
      const statuses = Object.values(errorTable)
        .map(({ status }) => String(status))
        .filter(status => status !== '499')
      expect(Object.keys(responses)).toEqual(expect.arrayContaining(['200', '401', '403', '415', '429', ...statuses]))
    }
    const references = referencesIn(document)
    expect(references.length).toBeGreaterThan(20)
    for (const reference of references) expect(at(document, reference), reference).toBeTypeOf('object')
    for (const name of Object.keys(document.components.schemas)) expect(name).toMatch(/^[A-Za-z0-9._-]+$/)
    checkByRules(document)
  })

  it('has schemas that mean what the ones of the workers mean', () => {
    const base = '#/components/schemas/tree'
    const document = { components: { schemas: { tree: movedSchema(tree, base) } } }
    const validate = new Ajv2020({ strict: false }).addSchema(document, 'doc').getSchema(`doc${base}`)!
    expect(validate({ name: 'a', children: [{ name: 'b' }], $ref: 'x' })).toBe(true)
    expect(validate({ name: 'a', children: [{ name: '' }] })).toBe(false)
    expect(validate({ name: 'a', children: [{ children: [] }] })).toBe(false)
    expect(movedSchema(tree, base)!.examples).toEqual(tree.examples)
  })

  it('leaves out schemas with references that lead nowhere', () => {
    for (const $ref of ['#/$defs/x', '#x', '#/type', '#/x-own', '#/$defs', '#/%', '#//'])
      expect([$ref, movedSchema({ type: 'object', 'x-own': {}, $defs: {}, allOf: [{ $ref }] }, '#/b')]).toEqual([
        $ref,
        undefined,
      ])
    expect(movedSchema({ properties: { a: { $id: 'x', $ref: '#/$defs/b', $defs: { b: {} } } } }, '#/b')).toEqual({
      properties: { a: { $ref: '#/b/properties/a/$defs/b', $defs: { b: {} } } },
    })
  })
})

/** The rules of OpenAPI 3.1 for the parts that are used here. */
// biome-ignore-start lint/suspicious/noExplicitAny: a document is looked at as it came
const checkByRules = (document: Record<string, any>): void => {
  for (const [path, item] of Object.entries<any>(document.paths)) {
    expect(path).toMatch(/^\/[^{}?#\s]*$/)
    expect(Object.keys(item)).toEqual(['post'])
    const { operationId, parameters, requestBody, responses, tags, ...rest } = item.post
    expect(Object.keys(rest).sort()).toEqual(['description', 'summary'])
    expect([typeof operationId, Array.isArray(tags), typeof requestBody.required]).toEqual(['string', true, 'boolean'])
    expect(requestBody.content['application/json']).toHaveProperty('schema')
    for (const parameter of parameters)
      expect(at(document, parameter.$ref)).toMatchObject({ in: 'header', name: expect.any(String) })
    for (const [status, response] of Object.entries<any>(responses)) {
      expect(status).toMatch(/^[2-5](\d\d|XX)$/)
      expect(response.$ref ? at(document, response.$ref) : response).toHaveProperty('description')
    }
  }
  const meta = new Ajv2020({ strict: false })
  for (const schema of Object.values<object>(document.components.schemas))
    expect(meta.validateSchema(schema)).toBe(true)
}
// biome-ignore-end lint/suspicious/noExplicitAny: as above

const nested = (depth: number): object => (depth === 0 ? {} : { items: nested(depth - 1) })
const hostile: [string, unknown, RegExp][] = [
  ['too large', { description: 'x'.repeat(70_000) }, /larger than 65536 bytes/],
  ['too deep', nested(40), /nested deeper than 32/],
  ['too many parts', { anyOf: Array.from({ length: 2500 }, () => ({})) }, /more than 2000 nodes/],
  ['remote', { $ref: 'https://evil.example/schema' }, /\/\$ref refers to no schema within this one/],
  ['polluting', JSON.parse('{"properties":{"__proto__":{"type":"string"}}}'), /__proto__/],
  ['a list', [], /must be an object/],
]

describe('schemas of the registry', () => {
  it('are told of and left out, wherever they are', async () => {
    await fixture.worker([defineTask('fine:1.0', { args: { type: 'object' }, result: { type: 'string' } }, () => 'x')])
    const card = JSON.parse((await fixture.redis.hget(`${fixture.namespace}:tasks`, 'fine:1.0'))!)
    for (const [index, [, schema]] of hostile.entries()) {
      const task = `fine:2.${index}`
      await fixture.redis.hset(
        `${fixture.namespace}:tasks`,
        task,
        JSON.stringify({ ...card, task, args: schema, result: schema }),
      )
    }
    const registry = await fixture.registry()
    for (const [index, [, , why]] of hostile.entries()) {
      const response = await registry.get(`api/tasks/fine:2.${index}`)
      const detail = await jsonOf(response)
      expect([detail.unusable, detail.args, detail.result]).toEqual([expect.stringMatching(why), undefined, undefined])
      expect(detail.versions).toHaveLength(hostile.length + 1)
    }
    const detail = await jsonOf(await registry.get('api/tasks/fine:1.0'))
    expect(detail).toMatchObject({ args: { type: 'object' }, result: { type: 'string' } })
    expect(detail.unusable).toBeUndefined()
    expect(detail.versions.filter(({ args }: { args?: object }) => args)).toHaveLength(1)
    expect((await registry.get('openapi.json')).status).toBe(200)
    expect((await registry.get('metrics')).status).toBe(200)
  })
})
