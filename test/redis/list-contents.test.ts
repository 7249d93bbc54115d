import { describe, expect, it } from 'vitest'
import { defineTask, type EventMap } from '../../src/index.ts'
import { delay } from '../support/delay.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

const echo = defineTask('echo:1.0', {}, args => args)

const queueKey = (name: string) => `${it_.namespace}:{q}:${name}`

describe('what a worker finds in the list', () => {
  it('garbage is dropped, reported and counted, and the worker lives on', async () => {
    const worker = await it_.worker([echo], { slots: 2 })
    const malformed: EventMap['request:malformed'][] = []
    worker.events.on('request:malformed', event => malformed.push(event))
    const deep = `{"task":"echo:1.0","args":${'['.repeat(5000)}${']'.repeat(5000)}}`
    const garbage = [
      '',
      'not json',
      '[]',
      '7',
      'null',
      '{}',
      '{"task":7}',
      deep,
      '{"at":1,"ttl":0,"id":"abc","task":',
      '{"task":"echo:1.0","args":{"__proto__":{"polluted":1}}}',
      '{"task":"echo:1.0","args":{"\\u005f_proto__":1}}',
    ]
    await it_.redis.rpush(queueKey('calls'), ...garbage)
    await it_.redis.rpush(queueKey('bell'), 1)
    await eventually(() => malformed.length === garbage.length)
    expect(JSON.stringify(malformed)).not.toContain('polluted')
    expect(({} as { polluted?: number }).polluted).toBeUndefined()
    expect(await it_.hub().call('echo:1.0', 'alive')).toBe('alive')
    await eventually(async () => (await it_.redis.exists(queueKey(`held:${worker.id}`))) === 0)
  })

  it("a reply list that is not a hub's is never written to", async () => {
    const worker = await it_.worker([echo])
    const malformed: string[] = []
    worker.events.on('request:malformed', event => malformed.push(event.reason))
    const n = it_.namespace
    const hostile = [
      `${n}:tasks`,
      `${n}:{q}:calls`,
      `${n}:reply:{a}b}`,
      `${n}:reply:{}`,
      `${n}:reply:{a b}`,
      'other:reply:{abc}',
      `${n}:reply:{${'x'.repeat(65)}}`,
      `${n}:reply:{abc}\n`,
      7,
      null,
      { a: 1 },
    ]
    await it_.redis.rpush(
      queueKey('calls'),
      ...hostile.map((result_queue, i) =>
        JSON.stringify({ at: 1, ttl: 0, id: `r${i}`, task: 'echo:1.0', args: i, result_queue }),
      ),
    )
    await it_.redis.rpush(queueKey('bell'), 1)
    await eventually(() => malformed.length === hostile.length)
    expect(new Set(malformed)).toEqual(new Set(["result_queue is not a hub's reply list"]))
    expect(await it_.redis.keys('other:*')).toEqual([])
    await it_.hub().call('echo:1.0')
  })

  it('a request for a task that only another worker of the queue has reaches that one', async () => {
    const other = defineTask('other:1.0', {}, () => 'from the other')
    const first = await it_.worker([echo])
    const handed: EventMap['request:handedback'][] = []
    first.events.on('request:handedback', event => handed.push(event))
    const hub = it_.hub()
    await it_.worker([other])
    for (let n = 0; n < 20; n++) expect(await hub.call('other:1.0', n)).toBe('from the other')
    // They wait for the bell in turn, so about every second call came to the first one.
    expect(handed.length).toBeGreaterThan(0)
    expect(handed[0]).toMatchObject({ queue: 'q', task: 'other:1.0', count: 1 })
  })

  it('also while that one is busy and the others find it again and again', async () => {
    const other = defineTask('other:1.0', {}, () =>
      delay(50, 'so that the other worker finds them again and again').then(() => 'done'),
    )
    await it_.worker([echo], { slots: 2 })
    await it_.worker([other], { slots: 1 })
    const hub = it_.hub()
    const calls = Array.from({ length: 6 }, (_, n) => hub.call('other:1.0', n, { timeoutMs: 60_000 }))
    expect(await Promise.all(calls)).toEqual(calls.map(() => 'done'))
    expect(await hub.call('echo:1.0', 'slots are free again')).toBe('slots are free again')
  })
})
