import { deflateRawSync } from 'node:zlib'
import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { withoutSecrets, withPlaceholders } from '../../registry/schema/secrets.ts'
import { argsFromFragment, argsToFragment } from '../../registry/web/try-it/arguments/share-link.ts'
import {
  addRun,
  clearRuns,
  maxRuns,
  type PastRun,
  readRuns,
  type Store,
} from '../../registry/web/try-it/history/store.ts'
import { repeatText } from '../../registry/web/try-it/outcome/explain.ts'
import type { FinishedRun } from '../../registry/web/try-it/run/finished.ts'
import { summaryOf } from '../../registry/web/try-it/run/repeat-summary.ts'
import { examplesOf } from '../../registry/web/try-it/schema/examples.ts'
import { formats } from '../../src/task/formats.ts'
import { errorTable } from '../../src/wire/errors.ts'
import { anyJson } from '../support/any-json.ts'

const secret = { type: 'string', format: 'password' }
const field = (schema: unknown) => ({ type: 'object', properties: { user: { type: 'string' }, token: schema } })

describe('secrets', () => {
  const places: [string, unknown, unknown, unknown][] = [
    ['a password', field(secret), { user: 'u', token: 't' }, { user: 'u' }],
    ['a field that is only written', field({ writeOnly: true }), { user: 'u', token: { a: 1 } }, { user: 'u' }],
    ['behind a reference', { $defs: { s: secret }, ...field({ $ref: '#/$defs/s' }) }, { token: 't' }, {}],
    ['in one of several branches', { oneOf: [field({}), field(secret)] }, { user: 'u', token: 't' }, { user: 'u' }],
    ['in every branch of branches', { allOf: [{ anyOf: [{ if: {}, else: field(secret) }] }] }, { token: 't' }, {}],
    ['behind an anchor', { $defs: { s: { $anchor: 'pw', ...secret } }, ...field({ $ref: '#pw' }) }, { token: 't' }, {}],
    [
      'behind an id of an older draft',
      { $defs: { s: { $id: '#pw', ...secret } }, ...field({ $ref: '#pw' }) },
      { token: 't' },
      {},
    ],
    [
      'behind an id',
      { $id: 'https://a.example/b', $defs: { s: { $id: 'c', ...secret } }, ...field({ $ref: 'c' }) },
      { token: 't' },
      {},
    ],
    [
      'behind a dynamic reference',
      { $defs: { s: { $dynamicAnchor: 'pw', ...secret } }, ...field({ $dynamicRef: '#pw' }) },
      { token: 't' },
      {},
    ],
    [
      'behind a reference that leads nowhere',
      field({ $ref: '#/$defs/none' }),
      { user: 'u', token: 't' },
      { user: 'u' },
    ],
    ['in a tuple of an older draft', { items: [{}, secret] }, ['a', 't'], ['a', null]],
    ['behind a tuple of an older draft', { items: [{}], additionalItems: secret }, ['a', 't'], ['a', null]],
    [
      'in what depends on another field',
      { dependencies: { user: field(secret) } },
      { user: 'u', token: 't' },
      { user: 'u' },
    ],
    ['in items', { items: field(secret) }, [{ token: 't', user: 'u' }], [{ user: 'u' }]],
    ['an item itself', { prefixItems: [{}, secret] }, ['a', 't'], ['a', null]],
    ['in a map', { additionalProperties: secret }, { any: 't' }, {}],
    ['under a pattern', { patternProperties: { '^never$': secret } }, { any: 't' }, {}],
    ['the whole', secret, 't', undefined],
  ]
  it.each(places)('are left out: %s', (_, schema, value, kept) => {
    expect(withoutSecrets({ args: schema }, value)).toEqual({ value: kept, isWhole: false })
  })

  it('may be anything where the schema is not usable', () => {
    expect(withoutSecrets({ unusable: 'it is too large' }, { a: 1 })).toEqual({ value: undefined, isWhole: false })
  })

  it('are a word in commands', () => {
    const told = (args: unknown, value: unknown, unusable?: string) => withPlaceholders({ args, unusable }, value)
    expect(told(field(secret), { user: 'u', token: 't' })).toEqual({
      value: { user: 'u', token: '<secret>' },
      isWhole: false,
    })
    expect(told(undefined, { a: 't' }, 'too large')).toEqual({ value: '<secret>', isWhole: false })
    expect(told(field({}), { user: 'u' })).toEqual({ value: { user: 'u' }, isWhole: true })
    expect(told(secret, undefined)).toEqual({ value: undefined, isWhole: true })
  })

  it('are nothing else', () => {
    const value = { user: 'u', list: [1, { a: null }] }
    expect(withoutSecrets({ args: field({}) }, value)).toEqual({ value, isWhole: true })
    expect(withoutSecrets({}, value)).toEqual({ value, isWhole: true })
  })

  it('make a tangled schema keep nothing, in bounded time', () => {
    const tangled = {
      $defs: Object.fromEntries(
        Array.from({ length: 300 }, (_, n) => [
          `d${n}`,
          { anyOf: Array.from({ length: 300 }, (_, m) => ({ $ref: `#/$defs/d${m}` })) },
        ]),
      ),
      additionalProperties: { $ref: '#/$defs/d0' },
    }
    expect(withoutSecrets({ args: tangled }, { a: 1 })).toEqual({ value: undefined, isWhole: false })
  })
})

const memory = (): Store & { kept: Map<string, string> } => {
  const kept = new Map<string, string>()
  return {
    kept,
    getItem: key => kept.get(key) ?? null,
    setItem: (key, value) => void kept.set(key, value),
    removeItem: key => void kept.delete(key),
  }
}

const run = (atMs: number, args = '{}'): PastRun => ({ atMs, args, isWhole: true, outcome: 'ok', tookMs: 1 })

describe('the history of runs', () => {
  it('keeps the newest of each task and namespace', () => {
    const store = memory()
    for (let n = 0; n < maxRuns + 5; n++) addRun(store, 'ns', 'a:1.0', run(n))
    addRun(store, 'other', 'a:1.0', run(99))
    const kept = readRuns(store, 'ns', 'a:1.0')
    expect(kept.map(({ atMs }) => atMs)).toEqual(Array.from({ length: maxRuns }, (_, n) => maxRuns + 4 - n))
    clearRuns(store, 'ns', 'a:1.0')
    expect(readRuns(store, 'ns', 'a:1.0')).toEqual([])
    expect(readRuns(store, 'other', 'a:1.0')).toHaveLength(1)
  })

  it('is bounded in length', () => {
    const store = memory()
    for (let n = 0; n < maxRuns; n++) addRun(store, 'ns', 't', run(n, JSON.stringify('x'.repeat(15_000))))
    addRun(store, 'ns', 't', run(100, JSON.stringify('x'.repeat(30_000))))
    expect([...store.kept.values()].join('').length).toBeLessThanOrEqual(100_000)
    const [newest] = readRuns(store, 'ns', 't')
    expect(newest!.atMs).toBe(100)
    expect(newest!.args).toBeUndefined()
  })

  it.each(['no JSON', '7', '[null, 1, {"atMs": "x"}]', '{"length": 3}'])('is empty when the storage holds %s', text => {
    const store = memory()
    store.setItem('pshub-runs ns t', text)
    expect(readRuns(store, 'ns', 't')).toEqual([])
  })

  it('does without a storage, and with one that is full', () => {
    expect(addRun(undefined, 'ns', 't', run(1))).toHaveLength(1)
    const full = {
      ...memory(),
      setItem: () => {
        throw new Error('full')
      },
    }
    expect(addRun(full, 'ns', 't', run(1))).toEqual([])
  })
})

describe('a link with arguments', () => {
  it('brings them back', async () => {
    await fc.assert(
      fc.asyncProperty(anyJson, async value => {
        const json = JSON.stringify(value)
        const fragment = await argsToFragment(json)
        expect(fragment).toMatch(/^(args|packed)=[\w-]*$/)
        expect(await argsFromFragment(`#as=json&${fragment}`)).toBe(json)
      }),
      { numRuns: 100 },
    )
  })

  it('is packed when that is shorter, and refused when it is still too long', async () => {
    const fragment = await argsToFragment(JSON.stringify('x'.repeat(50_000)))
    expect(fragment).toMatch(/^packed=/)
    expect(JSON.parse((await argsFromFragment(fragment!))!)).toHaveLength(50_000)
    const random = JSON.stringify(Array.from({ length: 5_000 }, (_, n) => Math.imul(n + 7, 2654435761) >>> 0))
    expect(await argsToFragment(random)).toBeUndefined()
  })

  it('that was cut off, or unpacks without end, is refused', async () => {
    const bomb = deflateRawSync(Buffer.alloc(5_000_000)).toString('base64url')
    for (const fragment of ['args=!!', 'packed=AAAA', `packed=${bomb}`, 'args=_w'])
      await expect(argsFromFragment(fragment)).rejects.toThrow('cannot be read')
    expect(await argsFromFragment('#as=json')).toBeUndefined()
  })
})

describe('an example', () => {
  const made: [string, object][] = [
    [
      'an object',
      {
        type: 'object',
        properties: { a: { type: 'integer', minimum: 5 }, b: { type: 'string', minLength: 7 } },
        required: ['a', 'b'],
      },
    ],
    [
      'formats',
      {
        type: 'object',
        properties: Object.fromEntries(
          ['date', 'date-time', 'time', 'email', 'uri', 'uuid', 'ipv4', 'ipv6', 'hostname', 'duration'].map(format => [
            format,
            { type: 'string', format },
          ]),
        ),
      },
    ],
    ['limits', { type: 'array', items: { type: 'number', exclusiveMinimum: 3, maximum: 3.5 }, minItems: 3 }],
    ['multiples', { type: 'integer', minimum: 10, multipleOf: 7 }],
    ['a tuple', { type: 'array', prefixItems: [{ const: 'x' }, { enum: [7] }], items: false }],
    [
      'branches',
      { oneOf: [{ type: 'object', properties: { kind: { const: 'a' } }, required: ['kind'] }, { type: 'null' }] },
    ],
    [
      'joined',
      {
        allOf: [
          { type: 'object', properties: { a: { type: 'boolean' } }, required: ['a'] },
          { properties: { b: { default: 4 } }, required: ['b'] },
        ],
      },
    ],
    [
      'a recursive one',
      { type: 'object', properties: { child: { $ref: '#' }, n: { type: 'integer' } }, required: ['n'] },
    ],
    ['a nullable one', { type: ['null', 'string'] }],
  ]
  it.each(made)('of %s fits its schema', (_, schema) => {
    const ajv = new Ajv2020({ strict: false, formats })
    expect(ajv.validate(schema, examplesOf(schema)[0]), JSON.stringify(examplesOf(schema)[0])).toBe(true)
  })

  it('is the one that the schema gives', () => {
    expect(examplesOf({ type: 'object', examples: [{ a: 1 }, { a: 2 }] })).toEqual([{ a: 1 }, { a: 2 }])
    expect(examplesOf({ properties: { a: { examples: ['x'], default: 'y' } } })[0]).toEqual({ a: 'y' })
  })

  it('of a schema that refers to itself for ever ends', () => {
    const endless = { type: 'object', properties: { a: { $ref: '#' }, b: { $ref: '#' } }, required: ['a', 'b'] }
    expect(JSON.stringify(examplesOf(endless)).length).toBeLessThan(20_000)
    expect(examplesOf({ $ref: '#' })).toEqual([null])
  })
})

describe('many runs', () => {
  const finished = (tookMs: number, code?: 'Timeout' | 'TaskFailed'): FinishedRun => ({
    outcome: code ? { ok: false, failure: { code, detail: '' } } : { ok: true, text: '1', node: undefined },
    tookMs,
    atMs: 0,
    id: undefined,
    phases: undefined,
  })
  it('are summed up', () => {
    const runs = [
      ...Array.from({ length: 20 }, (_, n) => finished(20 - n)),
      finished(900, 'Timeout'),
      finished(1, 'Timeout'),
    ]
    expect(summaryOf(runs)).toEqual({
      done: 22,
      ok: 20,
      failures: [['Timeout', 2]],
      waits: { least: 1, p50: 10, p95: 19, most: 20 },
    })
    expect(summaryOf([finished(5)]).waits).toEqual({ least: 5, p50: 5, p95: 5, most: 5 })
    expect(summaryOf([finished(5, 'TaskFailed')])).toMatchObject({ ok: 0, waits: undefined })
  })
})

describe('whether to run again', () => {
  it.each(Object.entries(errorTable))('after %s says nothing that is not so', (code, { ran, retryable }) => {
    const failure = { code: code as keyof typeof errorTable, detail: '', ran, retryable }
    const text = repeatText(failure, false)!
    expect(/is safe/.test(text)).toBe(ran === 'no')
    expect(repeatText(failure, true)).toMatch(/is safe/)
  })
})
