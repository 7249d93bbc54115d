import { Type as OldType } from '@sinclair/typebox'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import { Type } from 'typebox'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { ConfigError, defineTask } from '../../src/index.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

const zod = defineTask(
  'zod:1.0',
  {
    args: z.object({
      at: z.iso.datetime().transform(text => new Date(text)),
      mode: z.enum(['fit', 'fill']).default('fit'),
      word: z
        .string()
        .regex(/[A-Z]/i)
        .refine(word => word !== 'no', 'must be another word'),
    }),
    result: z.object({ year: z.number(), mode: z.string(), kind: z.string().default('image') }),
  },
  ({ at, mode }) => ({ year: at.getUTCFullYear(), mode }),
)
const slow = defineTask(
  'slow:1.0',
  { args: z.object({ n: z.number().refine(async n => n !== 7, 'is taken') }), result: z.number() },
  async ({ n }) => n,
)
const valibot = defineTask(
  'valibot:1.0',
  {
    args: toStandardJsonSchema(
      v.object({ n: v.optional(v.number(), 3), text: v.pipe(v.string(), v.transform(Number)) }),
    ),
    result: toStandardJsonSchema(v.number()),
  },
  ({ n, text }) => n + text,
)
const arktype = defineTask(
  'arktype:1.0',
  { args: type({ n: 'number = 3', text: 'string.numeric.parse' }), result: type('number') },
  ({ n, text }) => n + text,
)
const maybe = defineTask(
  'maybe:1.0',
  { args: z.object({ found: z.boolean() }), result: z.string().optional() },
  ({ found }) => (found ? 'it' : undefined),
)
const nothing = defineTask('nothing:1.0', { args: z.object({}), result: z.void() }, () => undefined)
const typebox = defineTask(
  'typebox:1.0',
  { args: Type.Object({ n: Type.Integer(), more: Type.Optional(Type.Array(Type.Number())) }), result: Type.Number() },
  ({ n, more = [] }) => more.reduce((sum, each) => sum + each, n),
)
const old = defineTask('old:1.0', { args: OldType.Object({ n: OldType.Integer() }) }, ({ n }) => n + 1)

describe('a task declared by a schema of a library', () => {
  it('gives its handler what the validator makes of the arguments, and its caller what it makes of the result', async () => {
    await it_.worker([zod, valibot, arktype, typebox, old, slow, maybe, nothing])
    const hub = it_.hub()
    expect(await hub.call(zod, { at: '2026-02-01T00:00:00Z', word: 'yes' })).toEqual({
      year: 2026,
      mode: 'fit',
      kind: 'image',
    })
    expect(await hub.call(valibot, { text: '4' })).toBe(7)
    expect(await hub.call(arktype, { text: '4' })).toBe(7)
    expect(await hub.call(typebox, { n: 1, more: [2, 3] })).toBe(6)
    expect(await hub.call(old, { n: 1 })).toBe(2)
    expect(await hub.call(slow, { n: 1 })).toBe(1)
    expect(await hub.call(maybe, { found: true })).toBe('it')
    expect(await hub.call(maybe, { found: false })).toBeNull()
    expect(await hub.call(nothing, {})).toBeNull()
  })

  it('is published with its JSON Schema, by which callers check before anything is sent', async () => {
    await it_.worker([zod, valibot, arktype])
    const hub = it_.hub()
    const { tasks } = await hub.overview()
    const card = (name: string) => tasks.find(({ task }) => task === name)!
    expect(card('zod:1.0').args).toMatchObject({ properties: { at: { type: 'string' }, mode: { default: 'fit' } } })
    expect(card('zod:1.0').result).toMatchObject({ required: ['year', 'mode', 'kind'] })
    expect(card('valibot:1.0').args).toMatchObject({ required: ['text'] })
    expect(card('arktype:1.0').args).toMatchObject({ required: ['text'] })
    const error = await failure(hub.call('zod:1.0', { at: 7, word: 'yes' }))
    expect([error.code, (error.data as { problems: unknown[] }).problems]).toMatchObject([
      'InvalidArgs',
      [{ pointer: '/at' }],
    ])
  })

  it('refuses what only its validator refuses, before the handler is started', async () => {
    await it_.worker([zod, slow])
    const error = await failure(it_.hub().call(zod, { at: '2026-02-01T00:00:00Z', word: 'no' }))
    expect(error).toMatchObject({
      code: 'InvalidArgs',
      ran: 'no',
      data: { problems: [{ pointer: '/word', message: 'must be another word' }] },
    })
    expect(error.message).toBe('The arguments of zod:1.0: /word must be another word.')
    const late = await failure(it_.hub().call(slow, { n: 7 }))
    expect(late).toMatchObject({ code: 'InvalidArgs', message: 'The arguments of slow:1.0: /n is taken.' })
  })

  it('merges payloads as its validator makes them, without those that it refuses', async () => {
    const seen: unknown[] = []
    const merged = defineTask(
      'merged:1.0',
      {
        args: z.object({
          id: z
            .string()
            .refine(id => id !== 'x')
            .transform(Number),
        }),
        keyed: 'merged',
      },
      byKey => void seen.push(...[...byKey.values()].flat()),
    )
    const hub = it_.hub()
    await it_.worker([merged])
    // The refused one behind the other: a run that its handler fails for good loses its first payload, whichever was to blame.
    await hub.enqueueMany([
      [merged, { id: '4' }, { key: 'a', delayMs: 300, score: 1 }],
      [merged, { id: 'x' }, { key: 'a', delayMs: 300, score: 2 }],
    ])
    await expect.poll(() => seen).toEqual([{ id: 4 }])
    const dead = hub.dead('q')
    await expect.poll(() => dead.count()).toBe(1)
    expect(await dead.list()).toMatchObject([{ args: { id: 'x' }, errors: [{ code: 'InvalidArgs' }] }])
    it_.allowLeftovers()
  })
})

describe('a schema that cannot be told', () => {
  it.each<[string, object, RegExp]>([
    [
      'without JSON Schema',
      { args: v.string() },
      /^x:1\.0: 'args' is a schema that offers no JSON Schema .* toStandardJsonSchema/,
    ],
    [
      'what JSON has not',
      { args: z.object({ at: z.date() }) },
      /^x:1\.0: 'args' cannot be converted to JSON Schema: Date/,
    ],
    [
      'a result that is made into something',
      { result: z.string().transform(Number) },
      /^x:1\.0: 'result' cannot be converted to JSON Schema: Transforms .* transform it in the handler/,
    ],
    ['no schema at all', { args: 'string' }, /^x:1\.0: 'args' must be an object, not string/],
    [
      'two ways to make a payload',
      { args: z.string(), keyed: 'merged', serialize: String },
      /^x:1\.0: 'serialize' and 'deserialize' do what the validator/,
    ],
  ])('is rejected: %s', (_, options, message) => {
    const define = () => defineTask('x:1.0', options as never)
    expect(define).toThrow(ConfigError)
    expect(define).toThrow(message)
  })
})
