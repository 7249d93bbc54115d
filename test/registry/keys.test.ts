import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { eventually } from '../support/hub-fixture.ts'
import { bodyOf, errorOf } from '../support/print-jobs.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { jsonOf, type TestRegistry, useRegistry } from '../support/registry-fixture.ts'

/** What the registry's API says of keys of jobs and does with them. */
const fixture = useRegistry()
const keys = () => queueKeys(fixture)
const hostile = `<b>"{x}[\u202e]" ${'W'.repeat(120)}`

/** A registry with two tasks that have keys; nobody takes their jobs. */
const withKeys = async (options: Parameters<typeof fixture.registry>[0] = {}): Promise<TestRegistry> => {
  fixture.allowLeftovers()
  const registry = await fixture.registry(options)
  const merged = defineTask('merge:1.0', { keyed: 'merged' }, () => undefined)
  await (await fixture.worker([merged, defineTask('line:1.0', { keyed: 'ordered' }, () => undefined)])).stop()
  // Arguments of a task that it does not know yet are not shown.
  await eventually(async () => (await registry.get('api/tasks/line:1.0')).status === 200)
  return registry
}
const query = (key: string, task = 'merge:1.0') => new URLSearchParams({ task, key }).toString()

describe('a key of merged jobs', () => {
  it('is shown with its payloads, and skipped, put back, run and deleted', async () => {
    const registry = await withKeys()
    const hub = fixture.hub()
    for (const score of [2, -1.5]) await hub.enqueue('merge:1.0', { score }, { key: hostile, score, delayMs: 60_000 })
    const shown = async () => jsonOf(await registry.get(`api/keys?${query(hostile)}`, 'view'))
    const args = (score: number) => ({ json: `{"score":${score}}`, length: `{"score":${score}}`.length })
    expect(await shown()).toEqual({
      ...{ queue: 'q', task: 'merge:1.0', key: hostile, state: 'later', dueMs: expect.any(Number), waiting: 2 },
      ...{ tries: 0, errors: [], jobs: [] },
      payloads: [
        { args: args(-1.5), score: -1.5 },
        { args: args(2), score: 2 },
      ],
    })
    const place = { queue: 'q', task: 'merge:1.0', key: hostile }
    const act = async (action: string) => bodyOf(await registry.post(`api/keys/${action}`, place))
    expect(await act('skip')).toEqual([200, { ...place, changed: 1 }])
    expect(await jsonOf(await registry.get(`api/keys/dead?${query(hostile)}`, 'view'))).toMatchObject({
      count: 1,
      jobs: [{ score: -1.5, args: args(-1.5) }],
    })
    expect(await act('retry')).toEqual([200, { ...place, changed: 1 }])
    expect(await act('run')).toEqual([200, { ...place, changed: 2 }])
    expect((await shown()).state).toBe('due')
    expect(await act('delete')).toEqual([200, { ...place, changed: 2 }])
    expect((await shown()).state).toBe('empty')
    expect(await act('skip')).toEqual([200, { ...place, changed: 0 }])
  })

  it('that runs says with what, and is not skipped', async () => {
    const registry = await withKeys()
    const fence = Date.now() * 1000
    await fixture.redis.hset(keys().running('merge:1.0'), 'a', `${fence} w m-${fence}`)
    expect(await jsonOf(await registry.get(`api/keys?${query('a')}`))).toMatchObject({
      ...{ state: 'running', run: { fence, worker: 'w', id: `m-${fence}`, sinceMs: Math.floor(fence / 1000) } },
    })
    const refused = await errorOf(await registry.post('api/keys/skip', { task: 'merge:1.0', key: 'a' }))
    expect(refused).toEqual([400, 'InvalidArgs', expect.stringContaining('because it is running now')])
    await fixture.redis.del(keys().running('merge:1.0'))
  })
})

describe('a key of ordered jobs', () => {
  it('is shown with its line, which is deleted step by step', async () => {
    const registry = await withKeys()
    const entries = Array.from({ length: 250 }, (_, n) => ['line:1.0', n, { key: n < 2 ? 'other' : 'a' }] as const)
    await fixture.hub().enqueueMany(entries)
    const { waiting, jobs, payloads } = await jsonOf(await registry.get(`api/keys?${query('a', 'line:1.0')}`))
    expect([waiting, jobs.length, jobs[0].args.json, payloads]).toEqual([248, 20, '2', []])
    const place = { task: 'line:1.0', key: 'a' }
    const steps: number[] = []
    let from: string | undefined
    do {
      const step = await jsonOf(await registry.post('api/keys/delete', { ...place, from }))
      steps.push(step.changed)
      from = step.next
    } while (from !== undefined)
    expect(steps).toEqual([200, 48])
    expect(await fixture.redis.hget(keys().lined, 'line:1.0')).toBe('2')
  })

  it('is what a list and a bulk action are filtered by', async () => {
    const registry = await withKeys()
    for (const key of ['a', 'b', 'b']) await fixture.hub().enqueue('line:1.0', 1, { key })
    const listed = await jsonOf(await registry.get('api/jobs?state=waiting&key=b'))
    expect(listed.jobs).toMatchObject([{ key: 'b' }, { key: 'b' }])
    expect(await jsonOf(await registry.get('api/jobs-matching?state=waiting&key=b'))).toMatchObject({ matching: 2 })
    const cancelled = await registry.post('api/jobs-matching/cancel', { state: 'waiting', key: 'b' })
    expect(await jsonOf(cancelled)).toMatchObject({ changed: 2 })
  })
})

describe('keys', () => {
  it.each([
    ['', 400, 'BadRequest', "'task' is missing."],
    [`task=merge:1.0&key=${'x'.repeat(201)}`, 400, 'BadRequest', "'key' must be a string of up to 200 characters."],
    [
      `task=merge:1.0&key=${encodeURIComponent('ж'.repeat(150))}`,
      400,
      'InvalidArgs',
      'key must be a string of 1 to 200',
    ],
    ['task=never:1.0&key=a', 404, 'NoSuchTask', 'never:1.0'],
    ['task=merge:1.0&key=a&x=1', 400, 'BadRequest', "Unknown member 'x'."],
  ])('are not asked for with "%s"', async (asked, status, code, message) => {
    const registry = await withKeys()
    const told = [status, code, expect.stringContaining(message)]
    for (const path of ['keys', 'keys/dead'])
      expect(await errorOf(await registry.get(`api/${path}?${asked}`))).toEqual(told)
  })

  it('are changed by admins alone, and run only where their task may be', async () => {
    const registry = await withKeys({ runTasks: ['mail:*'] })
    const place = { task: 'merge:1.0', key: 'a' }
    for (const action of ['run', 'skip', 'delete', 'retry']) {
      expect((await registry.post(`api/keys/${action}`, place, { role: 'run' })).status).toBe(403)
      const isRun = action === 'run' || action === 'retry'
      expect([action, (await registry.post(`api/keys/${action}`, place)).status]).toEqual([action, isRun ? 403 : 200])
      expect((await registry.post(`api/keys/${action}`, { ...place, more: 1 })).status).toBe(400)
      const cookie = await registry.logIn('admin')
      const foreign = { ...place }
      const response = await fetch(registry.at(`api/keys/${action}`), {
        method: 'POST',
        headers: { cookie, 'content-type': 'application/json', origin: 'https://elsewhere.example' },
        body: JSON.stringify(foreign),
      })
      expect(response.status).toBe(403)
    }
  })

  it('have payloads enqueued with a score, and tasks that are no operation of the API', async () => {
    const registry = await withKeys()
    const options = { key: 'a', score: 7 }
    expect((await registry.post('api/enqueue/merge:1.0', { args: 1, options })).status).toBe(200)
    expect(await fixture.redis.zrange(keys().merged('merge:1.0', 'a'), '0', '-1', 'WITHSCORES')).toEqual(['1', '7'])
    await fixture.worker([
      defineTask('merge:1.0', { keyed: 'merged' }, () => new Promise(() => undefined)),
      defineTask('line:1.0', { keyed: 'ordered' }, () => undefined),
      defineTask('plain:1.0', {}, () => undefined),
    ])
    const operations = async () => Object.keys((await jsonOf(await registry.get('openapi.json'))).paths)
    await expect.poll(operations).toEqual(['/api/call/plain:1.0'])
  })
})
