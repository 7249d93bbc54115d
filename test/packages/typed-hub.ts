// A hub that was told of its tasks, as by what `pshub types` writes: what must compile, with the types that it must have, by types.test.ts.
import { defineTask, Hub, type HubStream, type Job, type WithPhases } from 'pshub'

type IsSame<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
/** Does not compile where the type of a value is another one. */
function is<Expected>() {
  return { of<Actual>(_value: Actual, ..._same: IsSame<Actual, Expected> extends true ? [] : [never]): void {} }
}

export interface Tasks {
  'add:1.0': { args: { a: number; b: number }; result: number }
  'add:1': Tasks['add:1.0']
  'ping:1.0': { args: Record<string, never>; result: 'pong' }
  'note:1.0': { args: { text?: string }; result: { id: string; tags: string[] } }
  'any:1.0': { args: unknown; result: unknown }
  'chat:1.0': { args: { text: string }; result: { words: number }; chunk: { word: string } }
  'chat:1': Tasks['chat:1.0']
}

const hub = new Hub<Tasks>()
const own = defineTask(
  'own:1.0',
  { args: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } },
  ({ n }) => n,
)

const telling = defineTask(
  'telling:1.0',
  { args: { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] } },
  async function* ({ n }) {
    yield n
  },
)

export const calls = async () => {
  is<number>().of(await hub.call('add:1.0', { a: 1, b: 2 }))
  is<number>().of(await hub.call('add:1', { a: 1, b: 2 }, { timeoutMs: 5 }))
  is<'pong'>().of(await hub.call('ping:1.0'))
  is<WithPhases<number>>().of(await hub.call('add:1.0', { a: 1, b: 2 }, { phases: true }))
  is<{ id: string; tags: string[] }>().of(await hub.call('note:1.0'))
  is<unknown>().of(await hub.call('any:1.0', [1]))
  is<number>().of(await hub.call(own, { n: 1 }))
  // @ts-expect-error no such task
  hub.call('ad:1.0', { a: 1, b: 2 })
  // @ts-expect-error not that argument
  hub.call('add:1.0', { a: 1, b: '2' })
  // @ts-expect-error no field of that name
  hub.call('add:1.0', { a: 1, b: 2, c: 3 })
  // @ts-expect-error one is missing
  hub.call('add:1.0', { a: 1 })
  // @ts-expect-error all are missing
  hub.call('add:1.0')
  // @ts-expect-error no such field of the result
  ;(await hub.call('note:1.0')).ids
  // @ts-expect-error no such option
  hub.call('ping:1.0', {}, { timeout: 5 })
  // @ts-expect-error no such argument of a task that is given itself
  hub.call(own, { m: 1 })
}

export const streams = async () => {
  const chat = hub.stream('chat:1.0', { text: 'Hi' }, { idleMs: 5 })
  is<HubStream<{ word: string }, { words: number } | null>>().of(chat)
  for await (const chunk of hub.stream('chat:1', { text: 'Hi' })) is<string>().of(chunk.word)
  for await (const chunk of hub.stream('ping:1.0')) is<unknown>().of(chunk)
  for await (const chunk of hub.stream(telling, { n: 1 })) is<number>().of(chunk)
  is<'pong' | null>().of((await hub.stream('ping:1.0').next()).value as 'pong' | null)
  // @ts-expect-error no such task
  hub.stream('cat:1.0', { text: 'Hi' })
  // @ts-expect-error not that argument
  hub.stream('chat:1.0', { text: 5 })
  // @ts-expect-error no field of that name
  hub.stream('chat:1.0', { text: 'Hi', txet: 'Hi' })
  // @ts-expect-error all are missing
  hub.stream('chat:1.0')
  // @ts-expect-error no such option
  hub.stream('chat:1.0', { text: 'Hi' }, { phases: true })
  // @ts-expect-error no such field of a chunk
  for await (const chunk of hub.stream('chat:1.0', { text: 'Hi' })) chunk.wrod
  // @ts-expect-error no such argument of a task that is given itself
  hub.stream(telling, { m: 1 })
}

export const others = async () => {
  is<Job<number>>().of(await hub.enqueue('add:1.0', { a: 1, b: 2 }, { delayMs: 5, tracked: true }))
  is<Job<number>>().of(await hub.enqueue(own, { n: 1 }, { tracked: true }))
  // @ts-expect-error no such task
  hub.enqueue('ad:1.0')
  // @ts-expect-error not that argument
  hub.enqueue('add:1.0', { a: 1, b: true })
  const page = await hub.gather({ sum: ['add:1.0', { a: 1, b: 2 }], pong: ['ping:1.0'], own: [own, { n: 1 }] })
  if (page.sum.ok) is<number>().of(page.sum.value)
  if (page.pong.ok) is<'pong'>().of(page.pong.value)
  if (page.own.ok) is<number>().of(page.own.value)
  // @ts-expect-error not that argument
  hub.gather({ sum: ['add:1.0', { a: 1, b: 'x' }] })
  // @ts-expect-error no such task
  hub.gather({ sum: ['nope:1.0', {}] })
  await hub.enqueueMany([['add:1.0', { a: 1, b: 2 }], ['ping:1.0'], [own, { n: 1 }]])
  // @ts-expect-error not that argument
  await hub.enqueueMany([['add:1.0', { a: 1, b: 'x' }]])
  await hub.enqueueMany([1, 2].map(a => ['add:1.0', { a, b: 1 }] as const))
  const chain = await hub.chain([
    ['add:1.0', { a: 1, b: 2 }],
    ['note:1.0', {}, { pass: 'text' }],
  ])
  is<{ id: string; tags: string[] }>().of(await chain.result())
  const batch = await hub.batch([['ping:1.0']], { then: ['add:1.0', { a: 1, b: 2 }] })
  is<Job<number> | undefined>().of(batch.after)
  await hub.schedule('nightly', { cron: '@daily' }, 'add:1.0', { a: 1, b: 2 })
  // @ts-expect-error its arguments are required
  hub.schedule('nightly', { cron: '@daily' }, 'add:1.0')
}

const plain = (untyped: Hub) => untyped.call('whatever:1.0', { a: 1 })
export const passed = () => plain(hub)
export const chunks: HubStream<boolean, string | null> = new Hub().stream<{ n: number }, string, boolean>('named:1.0', {
  n: 1,
})
export const named = new Hub().call<{ n: number }, string>('named:1.0', { n: 1 })
export const text: Promise<string> = named
