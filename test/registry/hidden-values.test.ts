import { describe, expect, it } from 'vitest'
import { filledBack } from '../../registry/server/filled-back.ts'
import { defineTask } from '../../src/index.ts'
import { eventually } from '../support/hub-fixture.ts'
import { errorOf } from '../support/print-jobs.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { jsonOf, type TestRegistry, useRegistry } from '../support/registry-fixture.ts'

/** What schemas mark as secret is hidden by the service: nobody's browser is sent it who has not asked for it. */
const fixture = useRegistry()
const word = 'hunter2-and-more'
const args = {
  type: 'object',
  properties: {
    user: { type: 'string' },
    login: { $ref: '#/$defs/login' },
    others: { type: 'array', items: { $ref: '#/$defs/login' } },
  },
  $defs: {
    login: { type: 'object', properties: { name: { type: 'string' }, word: { $anchor: 'w', writeOnly: true } } },
  },
} as const
const result = { type: 'object', properties: { token: { type: 'string', format: 'password' }, n: {} } } as const
const seen: unknown[] = []
const login = defineTask('login:1.0', { args, result, retries: 0 }, given => {
  seen.push(given)
  if (given.user === 'nobody') throw new Error('there is no such user')
  return { token: word, n: 1 }
})

const withDead = async (given: object = { user: 'nobody', login: { name: 'a', word } }, options = {}) => {
  fixture.allowLeftovers()
  seen.length = 0
  await fixture.worker([login])
  const registry = await fixture.registry(options)
  const { id } = await jsonOf(
    await registry.post('api/enqueue/login:1.0', { args: given, options: { tracked: true, unique: true } }),
  )
  await eventually(async () => (await fixture.redis.zcard(queueKeys(fixture).dead)) === 1)
  return { registry, id: String(id) }
}

const everythingOf = async (registry: TestRegistry, id: string, role: 'view' | 'admin') => {
  const paths = [
    `api/jobs/${id}`,
    `api/jobs/${id}?queue=q&state=dead`,
    'api/jobs?state=dead',
    'api/jobs?state=done',
    `api/jobs?state=dead&text=${word.slice(0, 5)}`,
    'api/failures',
    'api/slow',
    'api/schedules',
    'api/tasks/login:1.0',
    'metrics',
    'openapi.json',
  ]
  return Promise.all(paths.map(async path => (await registry.get(path, role)).text()))
}

describe('what is secret', () => {
  it('is hidden from everybody in jobs, lists and failures, with the result', async () => {
    const { registry, id } = await withDead()
    const done = await jsonOf(await registry.post('api/enqueue/login:1.0', { args: {}, options: { tracked: true } }))
    const ended = await eventually(async () => {
      const job = await jsonOf(await registry.get(`api/jobs/${done.id}`))
      return job.state === 'done' && job
    })
    expect([ended.result, ended.hidden]).toEqual(['{"token":"<secret>","n":1}', { args: false, result: true }])
    await registry.post('api/schedules', {
      ...{ name: 'nightly', cron: '0 3 * * *', task: 'login:1.0', args: { login: { word } } },
    })
    for (const role of ['view', 'admin'] as const)
      for (const text of await everythingOf(registry, id, role)) expect(text).not.toContain(word)
    const job = await jsonOf(await registry.get(`api/jobs/${id}`, 'view'))
    expect(job).toMatchObject({
      args: { user: 'nobody', login: { name: 'a', word: '<secret>' } },
      hidden: { args: true, result: false },
      // A digest of the arguments would let it be guessed.
      unique: 'login:1.0#<secret>',
    })
    const [schedule] = await jsonOf(await registry.get('api/schedules', 'view'))
    expect(schedule.args).toEqual({ login: { word: '<secret>' } })
  })

  it('is not found by a search, nor counted by one', async () => {
    const { registry } = await withDead()
    const found = async (text: string) => (await jsonOf(await registry.get(`api/jobs?state=dead&text=${text}`))).jobs
    expect(await found('nobody')).toHaveLength(1)
    expect(await found(word)).toEqual([])
    const matching = async (text: string) => {
      const answer = await registry.get(`api/jobs-matching?state=dead&text=${text}`, 'view')
      return (await jsonOf(answer)).matching
    }
    expect([await matching('nobody'), await matching(word)]).toEqual([1, 0])
    const deleted = await registry.post('api/jobs-matching/delete', { state: 'dead', text: word })
    expect(await jsonOf(deleted)).toMatchObject({ matching: 0, changed: 0 })
  })

  it('is shown to whoever may change jobs and asks for it, and that is written down', async () => {
    const { registry, id } = await withDead()
    for (const role of ['view', 'run'] as const)
      expect((await registry.post(`api/jobs/${id}/reveal`, {}, { role })).status).toBe(403)
    const shown = await jsonOf(await registry.post(`api/jobs/${id}/reveal`, { queue: 'q', state: 'dead' }))
    expect([shown.args.login.word, shown.hidden]).toEqual([word, undefined])
    const readOnly = await fixture.registry({ readOnly: true })
    expect((await readOnly.post(`api/jobs/${id}/reveal`, {})).status).toBe(403)
  })

  it('comes back where arguments are edited and it is left as it was shown', async () => {
    const { registry, id } = await withDead({ user: 'nobody', login: { name: 'a', word }, others: [{ word: 'x1' }] })
    const { args: shown } = await jsonOf(await registry.get(`api/jobs/${id}`))
    const retry = (given: object) => registry.post(`api/jobs/${id}/retry`, { queue: 'q', args: given })
    const reordered = { ...shown, others: [...shown.others, ...shown.others] }
    expect(await errorOf(await retry(reordered))).toEqual([
      400,
      'BadRequest',
      'The arguments still have <secret> in /others/0/word: enter the value.',
    ])
    expect(await jsonOf(await retry({ ...shown, user: 'somebody' }))).toEqual({ id, changed: true })
    await eventually(async () => seen.length === 2)
    expect(seen[1]).toEqual({ user: 'somebody', login: { name: 'a', word }, others: [{ word: 'x1' }] })
  })

  it('is all there is where all is to be hidden, and where nobody declares the task', async () => {
    const { registry, id } = await withDead(undefined, { hideValues: 'all' })
    const hidden = await jsonOf(await registry.get(`api/jobs/${id}`))
    expect([hidden.args, hidden.hidden]).toEqual(['<secret>', { args: true, result: false }])
    expect((await jsonOf(await registry.get('api/jobs?state=dead&text=nobody'))).jobs).toEqual([])
    expect((await registry.post(`api/jobs/${id}/retry`, { queue: 'q', args: '<secret>' })).status).toBe(200)
    await eventually(async () => seen.length === 2)
    expect(seen[1]).toEqual(seen[0])
    const unknown = await fixture.registry()
    await fixture.redis.zadd(queueKeys(fixture).scheduled, 4e12, `{"id":"s1","task":"lost:1.0","args":{"a":"${word}"}}`)
    const job = await jsonOf(await unknown.get('api/jobs/s1?queue=q&state=scheduled'))
    expect([job.args, job.hidden.args]).toEqual(['<secret>', true])
  })
})

describe('what was hidden, put back', () => {
  it.each([
    [
      { a: 1, b: 's' },
      { a: 1, b: '<secret>' },
      { a: 2, b: '<secret>' },
      { a: 2, b: 's' },
    ],
    [{ b: 's' }, { b: '<secret>' }, { b: 'new' }, { b: 'new' }],
    [{ b: 's' }, { b: '<secret>' }, {}, {}],
    [
      [{ b: 's' }, 1],
      [{ b: '<secret>' }, 1],
      [{ b: '<secret>' }, 2],
      [{ b: 's' }, 2],
    ],
    ['s', '<secret>', '<secret>', 's'],
    [{ b: { c: ['s'] } }, { b: '<secret>' }, { b: '<secret>', n: 1 }, { b: { c: ['s'] }, n: 1 }],
  ])('of %j, shown as %j, edited to %j', (stored, shown, given, wanted) => {
    expect(filledBack(stored, shown, given)).toEqual(wanted)
  })
})
