// Tasks declared by schemas of libraries, which must compile with the types that they must have: by types.test.ts. Nothing of it is run.
import { Type as Old } from '@sinclair/typebox'
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import { defineTask, type Hub, type TaskContext } from 'pshub'
import { Type } from 'typebox'
import * as v from 'valibot'
import * as z from 'zod'

type IsSame<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Does not compile where the type of a value is another one. */
function is<Expected>() {
  return { of<Actual>(_value: Actual, ..._same: IsSame<Actual, Expected> extends true ? [] : [never]): void {} }
}

const byZod = defineTask(
  'zod:1.0',
  {
    args: z.object({
      width: z.int(),
      since: z.iso.datetime().transform(text => new Date(text)),
      mode: z.enum(['fit', 'fill']).default('fit'),
    }),
    result: z.object({ width: z.number(), kind: z.string().default('image') }),
  },
  async ({ width, since, mode }) => {
    is<Date>().of(since)
    is<'fit' | 'fill'>().of(mode)
    return { width }
  },
)
const byZodReturned = defineTask('returned:1.0', { args: z.object({ a: z.string() }) }, ({ a }) => ({
  a,
  at: new Date(),
}))
const byValibot = defineTask(
  'valibot:1.0',
  {
    args: toStandardJsonSchema(
      v.object({ n: v.optional(v.number(), 1), text: v.pipe(v.string(), v.transform(Number)) }),
    ),
    result: toStandardJsonSchema(v.array(v.string())),
  },
  ({ n, text }) => {
    is<number>().of(n)
    is<number>().of(text)
    return ['a']
  },
)
const byArktype = defineTask(
  'arktype:1.0',
  { args: type({ n: 'number = 3', text: 'string.numeric.parse' }), result: type({ 'sum?': 'number' }) },
  ({ n, text }) => {
    is<number>().of(n)
    is<number>().of(text)
    return { sum: n + text }
  },
)
const byTypebox = defineTask(
  'typebox:1.0',
  {
    args: Type.Object({
      n: Type.Integer(),
      mode: Type.Optional(Type.Union([Type.Literal('fit'), Type.Literal('fill')])),
      tags: Type.Array(Type.String()),
    }),
    result: Type.Object({ ok: Type.Boolean(), counts: Type.Record(Type.String(), Type.Number()) }),
  },
  ({ n, mode, tags }) => {
    is<number>().of(n)
    is<'fit' | 'fill' | undefined>().of(mode)
    is<string[]>().of(tags)
    return { ok: true, counts: { a: n } }
  },
)
const byOldTypebox = defineTask(
  'old:1.0',
  {
    args: Old.Object({ n: Old.Integer(), note: Old.Optional(Old.String()) }),
    result: Old.Tuple([Old.String(), Old.Number()]),
  },
  ({ n, note }) => {
    is<number>().of(n)
    is<string | undefined>().of(note)
    return ['a', n] as [string, number]
  },
)
const contract = defineTask('contract:1.0', { args: z.object({ n: z.string().transform(Number) }), result: z.number() })
export const served = contract.handler(({ n }) => {
  is<number>().of(n)
  return n
})
export const merged = defineTask(
  'merged:1.0',
  { args: z.object({ id: z.string().transform(Number) }), keyed: 'merged' },
  byKey => is<Map<string, { id: number }[]>>().of(byKey),
)

export const calls = async (hub: Hub, ctx: TaskContext) => {
  is<{ width: number; kind: string }>().of(await hub.call(byZod, { width: 1, since: '2026-01-01T00:00:00Z' }))
  is<{ a: string; at: string }>().of(await hub.call(byZodReturned, { a: 'a' }))
  is<string[]>().of(await hub.call(byValibot, { text: '1' }))
  is<{ sum?: number }>().of(await hub.call(byArktype, { text: '1' }))
  is<{ ok: boolean; counts: { [key: string]: number } }>().of(await hub.call(byTypebox, { n: 1, tags: [] }))
  is<[string, number]>().of(await hub.call(byOldTypebox, { n: 1 }))
  is<number>().of(await ctx.call(contract, { n: '1' }))
  await hub.enqueue(merged, { id: '1' }, { key: 'a' })
  // @ts-expect-error the date travels as a text
  hub.call(byZod, { width: 1, since: new Date() })
  // @ts-expect-error what the handler gets is not what the caller sends
  hub.call(contract, { n: 1 })
  // @ts-expect-error no such mode
  hub.call(byTypebox, { n: 1, tags: [], mode: 'crop' })
  // @ts-expect-error what travels is described by the input
  hub.enqueue(merged, { id: 1 }, { key: 'a' })
  // @ts-expect-error no number comes back
  defineTask('wrong:1.0', { result: z.number() }, () => 'a')
}
