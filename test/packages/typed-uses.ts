// Uses of the package that must compile, with the types that they must have: by the compiler that this project uses and, as
// types.test.ts does it, by older ones. Nothing of it is run.
import { defineTask, type Hub, type Job, type TaskContext, type UntrackedJob, type WithPhases, Worker } from 'pshub'

type IsSame<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Does not compile where the type of a value is another one. */
function is<Expected>() {
  return { of<Actual>(_value: Actual, ..._same: IsSame<Actual, Expected> extends true ? [] : [never]): void {} }
}

const box = {
  type: 'object',
  properties: { width: { type: 'integer' }, mode: { enum: ['fit', 'fill'] } },
  required: ['width'],
  additionalProperties: false,
} as const

export const resize = defineTask('resize:1.0', { args: box }, ({ width }) => ({ width: width / 2, made: new Date() }))
export const state = defineTask(
  'state:1.0',
  { result: { type: 'object', properties: { state: { enum: ['ok', 'bad'] } }, required: ['state'] } },
  // A literal, in an asynchronous function with parameters, keeps its type.
  async (_args, ctx) => (ctx.attempt > 1 ? { state: 'bad' } : { state: 'ok' }),
)
export const ping = defineTask('ping:1.0', { args: { type: 'object', additionalProperties: false } }, () => 'pong')
export const quiet = defineTask('quiet:1.0', {}, () => {})
export const either = defineTask('either:1.0', {}, (_args, ctx) => (ctx.isJob ? { n: 1 } : Promise.resolve('later')))
export const mixed = defineTask('mixed:1.0', {}, () => ({
  row: {} as unknown,
  rows: [] as unknown[],
  late: undefined as Date | undefined,
  list: [1, undefined, () => 2],
  pair: ['a', new Date()] as [string, Date],
  held: new Map([['a', 1]]),
  act: () => 3,
  mark: Symbol('mark'),
}))
export const contract = defineTask('contract:1.0', { args: box, result: { type: 'array', items: { type: 'number' } } })
export const open = defineTask('open:1.0', { args: box })

const word = { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] } as const
export const chat = defineTask('chat:1.0', { args: box, yields: word }, async function* ({ width }) {
  yield { word: String(width) }
  return { words: 1 }
})
export const bare = defineTask('bare:1.0', { yields: true }, function* () {
  yield 1
})
export const both = defineTask('both:1.0', { yields: word, result: { type: 'number' } }, async function* () {
  yield { word: 'a' }
  return 1
})
export const nulled = defineTask('nulled:1.0', {}, function* () {
  yield 1
  return null
})
export const perhaps = defineTask('perhaps:1.0', {}, async function* (args) {
  yield 1
  return args ? { words: 1 } : null
})
export const chatContract = defineTask('chat_contract:1.0', { yields: word })
export const chatHandler = chatContract.handler(async function* () {
  yield { word: 'a' }
})

export const streams = async (hub: Hub) => {
  for await (const chunk of hub.stream(chat, { width: 1 })) is<string>().of(chunk.word)
  for await (const chunk of hub.stream(bare)) is<number>().of(chunk)
  for await (const chunk of hub.stream(both)) is<string>().of(chunk.word)
  for await (const chunk of hub.stream(chatContract)) is<string>().of(chunk.word)
  for await (const chunk of hub.stream(chatHandler)) is<string>().of(chunk.word)
  is<{ words: number }>().of(await hub.call(chat, { width: 1 }))
  is<number>().of(await hub.call(both))
  is<number[]>().of(await hub.call(nulled))
  is<number[] | { words: number }>().of(await hub.call(perhaps))
  // @ts-expect-error it yields something else
  defineTask('a:1.0', { yields: word }, async function* () {
    yield { wrod: 'a' }
  })
  // @ts-expect-error it yields something else
  chatContract.handler(async function* () {
    yield { wrod: 'a' }
  })
}

export const calls = async (hub: Hub) => {
  is<{ width: number; made: string }>().of(await hub.call(resize, { width: 1, mode: 'fit' }))
  is<WithPhases<{ width: number; made: string }>>().of(await hub.call(resize, { width: 1 }, { phases: true }))
  is<{ state: 'ok' | 'bad' }>().of(await hub.call(state))
  is<string>().of(await hub.call(ping))
  is<string>().of(await hub.call(ping, undefined, { timeoutMs: 100 }))
  is<null>().of(await hub.call(quiet))
  is<string | { n: number }>().of(await hub.call(either, 'anything'))
  // As JSON brings it: what is not known stays so, lists have null for what cannot travel, objects nothing.
  const { held, ...rest } = await hub.call(mixed)
  is<{
    row: unknown
    rows: unknown[]
    late: string | undefined
    list: (number | null)[]
    pair: [string, string]
  }>().of(rest)
  is<never>().of(held.a!)
  is<number[]>().of(await hub.call(contract, { width: 1 }))
  is<unknown>().of(await hub.call(open, { width: 1 }))
  is<unknown>().of(await hub.call('resize:1.0', { width: 1 }))
  is<WithPhases>().of(await hub.call('resize:1.0', {}, { phases: true }))
  // @ts-expect-error its arguments are required
  hub.call(resize)
  // @ts-expect-error one of them is
  hub.call(resize, {})
  // @ts-expect-error it has none
  hub.call(ping, { width: 1 })
}

export const gathers = async (hub: Hub) => {
  const page = await hub.gather({
    size: [resize, { width: 1, mode: 'fill' }],
    named: ['resize:1', { width: 1 }],
    pong: [ping],
  })
  if (page.size.ok) is<{ width: number; made: string }>().of(page.size.value)
  if (page.named.ok) is<unknown>().of(page.named.value)
  if (page.pong.ok) is<string>().of(page.pong.value)
  // @ts-expect-error there is no such name
  page.other
}

export const jobs = async (hub: Hub) => {
  const job = await hub.enqueue(resize, { width: 1 }, { delayMs: 5, tracked: true })
  is<Job<{ width: number; made: string }>>().of(job)
  is<{ width: number; made: string }>().of(await job.result())
  is<Job<string>>().of(await hub.enqueue(ping, undefined, { unique: true }))
  is<Job<string>>().of(await hub.enqueue(ping, {}, { keepResultMs: 1 }))
  is<UntrackedJob>().of(await hub.enqueue(ping))
  // @ts-expect-error nothing is kept of it
  await hub.enqueue(ping, {}, { delayMs: 5 }).then(job => job.result())
  await hub.enqueueMany([[resize, { width: 1 }], ['resize:1.0', { width: 1 }], [ping]])
  await hub.enqueueMany([1, 2].map(width => [resize, { width }]))
  await hub.enqueueMany([1, 2].map(width => ['resize:1.0', { width }, { delayMs: width }]))
  const chain = await hub.chain([
    [resize, { width: 1 }],
    [contract, { mode: 'fit' }, { pass: 'width' }],
  ])
  is<number[]>().of(await chain.result())
  const batch = await hub.batch([[resize, { width: 1 }]], { then: [contract, { width: 1 }], failed: [ping] })
  is<Job<number[]> | undefined>().of(batch.after)
  is<Job<string> | undefined>().of(batch.failed)
  await hub.schedule('nightly', { cron: '@daily' }, resize, { width: 1 }, { retries: 2 })
  await hub.schedule('pinged', { cron: '@daily' }, ping)
  // @ts-expect-error its arguments are required
  hub.schedule('nightly', { cron: '@daily' }, resize)
  // @ts-expect-error its arguments are required
  hub.enqueue(resize)
}

export const handled = contract.handler(async ({ width }, ctx) => {
  is<number>().of(width)
  is<{ width: number; made: string }>().of(await ctx.call(resize, { width }))
  is<unknown>().of(await ctx.call('resize:1.0'))
  return [width]
})
export const opened = open.handler(({ mode }) => ({ mode }), { threads: 2, module: import.meta.url })
export const opens = async (hub: Hub) =>
  is<{ mode: 'fit' | 'fill' | undefined }>().of(await hub.call(opened, { width: 1 }))

const merging = defineTask(
  'merging:1.0',
  { keyed: 'merged', batch: 2, args: { type: 'object', properties: { v: { type: 'number' } }, required: ['v'] } },
  byKey => {
    is<Map<string, { v: number }[]>>().of(byKey)
  },
)
const dates = defineTask(
  'dates:1.0',
  {
    keyed: 'merged',
    serialize: (day: Date) => day.toISOString(),
    deserialize: (json: unknown) => new Date(String(json)),
  },
  byKey => {
    is<Map<string, Date[]>>().of(byKey)
  },
)
const mergedContract = defineTask('later:1.0', { keyed: 'merged', args: { type: 'number' } })
export const merged = async (hub: Hub) => {
  await hub.enqueue(merging, { v: 1 }, { key: 'a', score: 1 })
  await hub.enqueue(dates, new Date(), { key: 'a' })
  await hub.enqueue(mergedContract, 1, { key: 'a' })
  await (await hub.key(merging, 'a')).runNow()
  // @ts-expect-error no such payload
  hub.enqueue(merging, { w: 1 }, { key: 'a' })
  return new Worker({ tasks: [merging, dates, mergedContract.handler(byKey => is<Map<string, number[]>>().of(byKey))] })
}

// @ts-expect-error its result does not fit the contract
contract.handler(() => ['a'])
// @ts-expect-error a contract cannot be served
new Worker({ tasks: [contract] })
export const worker = () => new Worker({ tasks: [handled, opened, resize, state, ping, quiet, either] })
export const context = (ctx: TaskContext) => ctx.call(ping, {}, { timeoutMs: 5, queue: 'q' })
