import { describe, expect, it } from 'vitest'
import { defineTask, prometheusText } from '../../src/index.ts'
import { rulesOf } from '../../src/redis/rights.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { add } from '../support/example-tasks.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const fixture = useRedis()

describe('what hubs refuse', () => {
  it('is told to the registry, by task and code, once a second at most', async () => {
    const worker = await fixture.worker([add])
    await worker.stop()
    const hub = fixture.hub({ name: 'shop' })
    for (let call = 0; call < 20; call++) await failure(hub.call('my_task:1.0', { x: 1 }))
    await failure(hub.call('nowhere:1.0'))
    const overview = (await eventually(async () => {
      const seen = await fixture.hub().overview()
      return seen.refusals.length === 2 ? seen : undefined
    }))!
    const [unknown, gone] = overview.refusals.sort((a, b) => (a.code < b.code ? -1 : 1))
    expect(unknown).toMatchObject({ task: 'nowhere:1.0', code: 'NoSuchTask', count: 1, from: 'shop' })
    expect(gone).toMatchObject({ task: 'my_task:1.0', queue: 'q', code: 'NoWorkers', count: 20, lastMinute: 20 })
    expect(gone?.message).toMatch(/No live worker provides my_task/)
    const expected = { lastMinute: { NoWorkers: 20 }, counts: { NoWorkers: 20 } }
    expect(overview.tasks[0]?.refused).toEqual(expected)
    expect(overview.queues.map(({ refused }) => refused)).toEqual(overview.queues.length ? [expected] : [])
    expect(prometheusText(overview)).toContain(
      `pshub_refused_total{queue="q",task="my_task:1.0",hub="${hub.id}",code="NoWorkers"} 20`,
    )
    const ttlMs = await fixture.redis.pttl(`${fixture.namespace}:refused:${hub.id}`)
    expect(ttlMs).toBeGreaterThan(3_500_000)
    expect(await fixture.redis.pttl(`${fixture.namespace}:refusing`)).toBeGreaterThan(3_500_000)
  })

  it('is told by a hub that is closed at once', async () => {
    const hub = fixture.hub()
    await failure(hub.call('nowhere:1.0'))
    await hub.close()
    expect(await fixture.keys()).toContain(`refused:${hub.id}`)
  })

  it('costs no command while nothing is refused, and while a worker fails by itself', async () => {
    const failing = defineTask('failing:1.0', {}, async () => {
      throw new Error('no')
    })
    await fixture.worker([add, failing])
    const hub = fixture.hub()
    expect(await hub.call('my_task:1.0', { x: 1 })).toBeDefined()
    await failure(hub.call('failing:1.0'))
    await hub.close()
    expect((await fixture.keys()).filter(key => key.startsWith('refus'))).toEqual([])
  })

  it('is kept to itself by a hub whose rights are of an earlier version', async () => {
    const keys = makeKeys(fixture.namespace)
    const rules = rulesOf('hub', keys)
      .split(' ')
      .filter(rule => !rule.includes(':refus'))
    await fixture.redis.call('ACL', 'SETUSER', 'earlier', 'on', '>pw', 'resetkeys', '-@all', ...rules)
    const url = fixture.url.replace('redis://', 'redis://earlier:pw@')
    const problems: unknown[] = []
    const hub = fixture.hub({ redis: url })
    hub.events.on('problem', problem => problems.push(problem))
    expect((await failure(hub.call('nowhere:1.0'))).code).toBe('NoSuchTask')
    await hub.close()
    expect(problems).toEqual([])
    expect((await fixture.keys()).filter(key => key.startsWith('refused'))).toEqual([])
    await fixture.redis.call('ACL', 'DELUSER', 'earlier')
  })

  it('may be anything: it counts as absent, and is said to be', async () => {
    const { redis, namespace } = fixture
    await redis.zadd(`${namespace}:refusing`, 1, 'h1', 2, 'h2', 3, '{}', 4, 'h3')
    await redis.set(
      `${namespace}:refused:h1`,
      '{"tasks":[{"task":1},{"task":"t:1.0","codes":[{"code":"constructor"}]}]}',
    )
    await redis.lpush(`${namespace}:refused:h2`, 'x')
    await redis.set(`${namespace}:refused:h3`, '['.repeat(100_000))
    const overview = await fixture.hub().overview()
    expect(overview.refusals).toEqual([])
    expect(overview.unreadable.map(({ key }) => key.slice(namespace.length + 1)).sort()).toEqual([
      'refused:h2',
      'refused:h3',
    ])
    await redis.del(`${namespace}:refusing`)
    await redis.set(`${namespace}:refusing`, 'x')
    expect((await fixture.hub().overview()).refusals).toEqual([])
  })
})
