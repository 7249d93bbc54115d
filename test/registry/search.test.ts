import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { eventually, failure } from '../support/hub-fixture.ts'
import { errorOf, usePrintJobs } from '../support/print-jobs.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { jsonOf, type TestRegistry, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const { withDead } = usePrintJobs(fixture)
const nothing = { tasks: [], queues: [], workers: [], jobs: [], keys: [], calls: [], isCut: false }

const search = async (registry: TestRegistry, text: string) =>
  jsonOf(await registry.get(`api/search?${new URLSearchParams({ text })}`, 'view'))

describe('GET /api/search', () => {
  it('finds tasks, queues and workers by their names, the best first', async () => {
    const names = ['resize:1.0', 'resize_image:1.0', 'image/resize:2.0', 'other:1.0']
    const worker = await fixture.worker(
      names.map(name => defineTask(name, {}, () => 1)),
      { queue: 'images', build: 'v77' },
    )
    const registry = await fixture.registry()
    const { tasks } = await search(registry, 'RESIZE')
    expect(tasks.map(({ task }: { task: string }) => task)).toEqual([
      'resize:1.0',
      'resize_image:1.0',
      'image/resize:2.0',
    ])
    expect(await search(registry, 'images')).toMatchObject({ tasks: [], queues: ['images'] })
    expect(await search(registry, `${process.pid} v77`)).toMatchObject({ workers: [{ id: worker.id, live: true }] })
    expect(await search(registry, worker.id)).toMatchObject({ workers: [{ id: worker.id, queue: 'images' }] })
    expect(await search(registry, 'zebra')).toEqual(nothing)
  })

  it('finds jobs by their ids: tracked ones, and those that only lie somewhere', async () => {
    const { registry, id } = await withDead()
    const dead = { id, queue: 'q', task: 'print:1.0', state: 'dead' }
    expect(await search(registry, id)).toEqual({ ...nothing, jobs: [dead], calls: expect.any(Array) })
    const { job } = queueKeys(fixture)
    await fixture.redis.del(job(id))
    expect(await search(registry, id)).toMatchObject({ jobs: [dead] })
    const later = await fixture.hub().enqueue('print:1.0', {}, { delayMs: 60_000 })
    expect(await search(registry, later.id)).toMatchObject({ jobs: [{ id: later.id, state: 'scheduled' }] })
    expect((await search(registry, later.id.slice(0, 12))).jobs).toEqual([])
  })

  it('finds requests that failed by the beginning of their ids', async () => {
    const registry = await fixture.registry()
    await fixture.worker([
      defineTask('fails:1.0', {}, () => {
        throw new Error('no luck')
      }),
    ])
    const { id } = (await failure(fixture.hub().call('fails:1.0', {}))) as unknown as { id: string }
    const found = await eventually(async () => {
      const { calls } = await search(registry, id.slice(0, 8))
      return calls.length > 0 && calls
    })
    expect(found).toEqual([{ id, task: 'fails:1.0', kind: 'failure', code: 'TaskFailed' }])
    expect((await search(registry, id.slice(0, 5))).calls).toEqual([])
  })

  it('finds keys by their text and by its beginning, where they wait for their time, wait or run', async () => {
    fixture.allowStrangers()
    const registry = await fixture.registry()
    const line = defineTask('line:1.0', { keyed: 'ordered' }, () => undefined)
    await (await fixture.worker([line])).stop()
    const hub = fixture.hub()
    await hub.enqueue('line:1.0', {}, { key: 'customer 42' })
    await hub.enqueue('line:1.0', {}, { key: 'Customer 421' })
    await hub.enqueue('line:1.0', {}, { key: 'customer 4', delayMs: 60_000 })
    const { running } = queueKeys(fixture)
    await fixture.redis.hset(running('line:1.0'), 'customer 7', '{}')
    const at = (key: string) => ({ queue: 'q', task: 'line:1.0', key })
    expect((await search(registry, 'customer 42')).keys).toEqual([at('customer 42'), at('Customer 421')])
    expect((await search(registry, 'customer 4')).keys[0]).toEqual(at('customer 4'))
    expect((await search(registry, 'customer 7')).keys).toEqual([at('customer 7')])
    expect((await search(registry, 'customer')).keys).toHaveLength(4)
    expect((await search(registry, 'ustomer 42')).keys).toEqual([])
  })

  it('looks at 10,000 keys and says so where there are more, finds the exact one all the same, and reads in pages', async () => {
    fixture.allowStrangers()
    const registry = await fixture.registry()
    await (await fixture.worker([defineTask('line:1.0', { keyed: 'ordered' }, () => undefined)])).stop()
    const { keyed, keysOf } = queueKeys(fixture)
    await fixture.redis.zadd(keyed, 1, 'line:1.0')
    const members = Array.from({ length: 30_000 }, (_, at) => [at, `key ${at} ${'x'.repeat(100)}`])
    for (let from = 0; from < members.length; from += 5000)
      await fixture.redis.zadd(keysOf('line:1.0'), ...(members.slice(from, from + 5000).flat() as string[]))
    await fixture.redis.zadd(keysOf('line:1.0'), 99_999, 'the last')
    await fixture.redis.config('RESETSTAT')
    expect(await search(registry, 'the last')).toMatchObject({ keys: [{ key: 'the last' }], isCut: true })
    expect(await search(registry, 'the las')).toMatchObject({ keys: [], isCut: true })
    const stats = await fixture.redis.info('commandstats')
    const [, calls] = /cmdstat_zrange:calls=(\d+)/.exec(stats)!
    expect(Number(calls)).toBeLessThan(120)
    // Pages of a few hundred, not one of all.
    expect(Number(calls)).toBeGreaterThan(10)
  })

  it('needs a text, and somebody who may look', async () => {
    const registry = await fixture.registry()
    expect(await errorOf(await registry.get('api/search'))).toEqual([400, 'BadRequest', "'text' is missing."])
    expect((await registry.get(`api/search?text=${'x'.repeat(201)}`)).status).toBe(400)
    expect((await fetch(registry.at('api/search?text=x'))).status).toBe(401)
  })
})
