import { AsyncLocalStorage } from 'node:async_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { defineTask, type Hub, noOverlap, type TaskMiddleware } from '../../src/index.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { useGuarded } from '../support/guarded-worker.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()
const { forget, serve } = useGuarded(it_)
const store = new AsyncLocalStorage<unknown>()

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

const telling = defineTask('telling:1.0', { idempotent: true }, async function* (_, ctx) {
  ctx.progress({ done: 1 })
  yield 1
})

const stuck = defineTask(
  'stuck:1.0',
  {},
  (_, ctx) => new Promise(resolve => ctx.signal.addEventListener('abort', resolve)),
)

/** Calls of which each has a store of its own, on a hub that the first one connects. */
const each = (act: (name: string) => Promise<unknown>) =>
  Promise.all(['A', 'B', 'C'].map(name => store.run(name, () => act(name))))

describe('the context of a caller', () => {
  it('is that of its callbacks and of the events of its calls', async () => {
    await it_.worker([telling, stuck], { slots: 4 })
    const hub = it_.hub()
    const seen: string[] = []
    const note = (what: string, name: string) => () => seen.push(`${what} ${name} ${store.getStore()}`)
    const settled: unknown[] = []
    hub.events.on('call:settled', ({ ok }) => settled.push([ok, store.getStore()]))
    await each(name => hub.call('telling:1.0', {}, { onProgress: note('call', name) }))
    await each(async name => {
      for await (const chunk of hub.stream('telling:1.0', {}, { onProgress: note('stream', name) }))
        note(`chunk ${chunk} of`, name)()
    })
    await each(name => hub.enqueueMany([['telling:1.0']], {}, { onProgress: note('many', name) }))
    await each(() => failure(hub.call('stuck:1.0', {}, { timeoutMs: 20 })))
    const ofEach = (what: string) => ['A', 'B', 'C'].map(name => `${what} ${name} ${name}`)
    expect(seen.sort()).toEqual(['call', 'chunk 1 of', 'many', 'stream'].flatMap(ofEach).sort())
    const all = [true, true, false].flatMap(ok => ['A', 'B', 'C'].map(name => [ok, name]))
    expect(settled.sort()).toEqual(all.sort())
  })

  it('is not that of events that are about no call of it', async () => {
    await it_.worker([telling])
    const hub = it_.hub()
    const seen = new Set<unknown>()
    for (const name of ['redis:up', 'queue:pushed'] as const)
      hub.events.on(name, () => seen.add([name, store.getStore()]))
    await each(() => hub.call('telling:1.0'))
    expect([...seen]).toEqual(
      expect.arrayContaining([
        ['redis:up', undefined],
        ['queue:pushed', undefined],
      ]),
    )
    expect([...seen].filter(entry => (entry as unknown[])[1] !== undefined)).toEqual([])
  })
})

describe('the context of a handler', () => {
  it('is its own, also for those who listen to its signal, whoever started the worker', async () => {
    const seen: unknown[] = []
    const own = defineTask('own:1.0', {}, (_, ctx) => {
      seen.push(store.getStore())
      store.enterWith(ctx.id)
      return new Promise(resolve => {
        ctx.signal.addEventListener('abort', () => {
          seen.push(store.getStore() === ctx.id)
          resolve(null)
        })
      })
    })
    await store.run('start', () => it_.worker([own], { slots: 3 }))
    const hub = it_.hub()
    const stopping = new AbortController()
    const calls = [1, 2].map(() => failure(hub.call('own:1.0', {}, { signal: stopping.signal })))
    const timedOut = failure(hub.call('own:1.0', {}, { timeoutMs: 300 }))
    await eventually(() => seen.length === 3)
    stopping.abort()
    await Promise.all([...calls, timedOut])
    await eventually(() => seen.length === 6)
    expect(seen).toEqual([undefined, undefined, undefined, true, true, true])
  })

  it('is that of its middleware where the signal tells that a lock was lost', async () => {
    const within: TaskMiddleware = next => (request, ctx) => store.run('around', () => next(request, ctx))
    const locked = defineTask('locked:1.0', {}, async (_, ctx) => {
      await it_.redis.hset(makeKeys(it_.namespace).lock('locked:1.0'), 'owner', 'somebody else')
      return new Promise(resolve => ctx.signal.addEventListener('abort', () => resolve(store.getStore())))
    })
    await serve([locked], [within, noOverlap({ leaseMs: 1000 })])
    expect(await it_.hub().call('locked:1.0')).toBe('around')
    await forget()
  })
})

/** What a hub does, each first thing in its life. */
const uses: Record<string, (hub: Hub) => Promise<unknown>> = {
  'a call': hub => hub.call('telling:1.0'),
  'a call that times out': hub => failure(hub.call('stuck:1.0', {}, { timeoutMs: 20 })),
  'a call of a task that there is not': hub => failure(hub.call('none:1.0')),
  'a call that is heard of': hub => {
    hub.events.on('call:settled', () => undefined)
    return hub.call('telling:1.0', {}, { onProgress: () => undefined })
  },
  'a stream': hub => hub.stream('telling:1.0').next(),
  'a job and its result': async hub => (await hub.enqueue('telling:1.0', {}, { keepResultMs: 10_000 })).result(),
  enqueueMany: hub => hub.enqueueMany([['telling:1.0']]),
  overview: hub => hub.overview(),
}

describe('what was kept in the context of a caller', () => {
  /** Apart, so that nothing of it is on the stack. */
  const used = async (act: () => Promise<unknown>): Promise<WeakRef<object>> => {
    const kept = { large: new Array(1000).fill(0) }
    await store.run(kept, act)
    return new WeakRef(kept)
  }
  const isForgotten = (kept: WeakRef<object>) =>
    eventually(() => {
      collect()
      return kept.deref() === undefined
    })

  it.each(Object.entries(uses))('is forgotten after %s, though the hub lives', async (_, use) => {
    it_.allowLeftovers()
    await it_.worker([telling, stuck])
    const hub = it_.hub()
    await isForgotten(await used(() => use(hub)))
  })

  it('is forgotten where it made a hub or started a worker that live, with all that they measure', async () => {
    let hub: Hub | undefined
    const made = await used(async () => {
      hub = it_.hub({ statsd: '127.0.0.1:9' })
    })
    const started = await used(() => it_.worker([telling], { statsd: '127.0.0.1:9' }))
    await isForgotten(made)
    await isForgotten(started)
    await hub?.call('telling:1.0')
  })
})
