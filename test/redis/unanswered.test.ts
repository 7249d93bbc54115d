import { describe, expect, it } from 'vitest'
import { defineTask, prometheusText } from '../../src/index.ts'
import { add } from '../support/example-tasks.ts'
import { eventually, failure, useRedis } from '../support/hub-fixture.ts'

const fixture = useRedis()

describe('what no worker answers', () => {
  it('is told to the registry, by task and code, once a second at most', async () => {
    const worker = await fixture.worker([add])
    await worker.stop()
    const hub = fixture.hub({ name: 'shop' })
    for (let call = 0; call < 20; call++) await failure(hub.call('my_task:1.0', { x: 1 }))
    await failure(hub.call('nowhere:1.0'))
    const overview = (await eventually(async () => {
      const seen = await fixture.hub().overview()
      return seen.unanswered.length === 2 ? seen : undefined
    }))!
    const [unknown, gone] = overview.unanswered.sort((a, b) => (a.code < b.code ? -1 : 1))
    expect(unknown).toMatchObject({ task: 'nowhere:1.0', code: 'NoSuchTask', count: 1, from: 'shop' })
    expect(gone).toMatchObject({ task: 'my_task:1.0', queue: 'q', code: 'NoWorkers', count: 20, lastMinute: 20 })
    expect(gone?.message).toMatch(/No live worker provides my_task/)
    const expected = { errorRate: 0, rejected: { NoWorkers: 20 }, notRun: { NoWorkers: 20 }, failed: {} }
    expect(overview.tasks[0]?.load).toMatchObject(expected)
    expect(overview.queues.map(({ load }) => load)).toMatchObject(overview.queues.length ? [expected] : [])
    expect(prometheusText(overview)).toContain(
      `pshub_unanswered_total{queue="q",task="my_task:1.0",outcome="rejected",code="NoWorkers"} 20`,
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

  it('costs no command while there is none, and while a worker fails by itself', async () => {
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
})
