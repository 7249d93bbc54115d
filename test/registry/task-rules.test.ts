import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fastify from 'fastify'
import { registry as plugin } from 'pshub-registry'
import { describe, expect, it } from 'vitest'
import { Rules } from '../../registry/server/rules.ts'
import { defineTask, readSettings } from '../../src/index.ts'
import { eventually } from '../support/hub-fixture.ts'
import { home } from '../support/mounted-registry.ts'
import { queueKeys } from '../support/queue-keys.ts'
import { bearer, json, jsonOf, type TestRegistry, tokens, useRegistry } from '../support/registry-fixture.ts'

/** Rules for each task: what is hidden from somebody is not there for them, wherever they look. */
const fixture = useRegistry()
const pay = defineTask('pay/out:1.0', { retries: 0, description: 'Hidden.' }, args => {
  if ((args as { fails?: boolean }).fails) throw new Error('no money')
  return 1
})
const mail = defineTask('mail/send:1.0', { keyed: 'ordered', retries: 0 }, () => 2)
const access = {
  tasks: [
    { who: ['token:view', 'token:run'], see: ['mail/*'] },
    { who: ['role:admin'], see: ['*'], run: ['pay/*'] },
  ],
}

const withBoth = async (): Promise<{ registry: TestRegistry; dead: string; later: string }> => {
  fixture.allowLeftovers()
  await fixture.worker([pay, mail])
  const hub = fixture.hub()
  const job = await hub.enqueue('pay/out:1.0', { fails: true }, { tracked: true })
  const later = await hub.enqueue('pay/out:1.0', {}, { delayMs: 3_600_000 })
  await hub.enqueue('mail/send:1.0', {}, { delayMs: 3_600_000, key: 'k' })
  await hub.schedule('hourly', { cron: '0 * * * *' }, 'pay/out:1.0', {})
  await eventually(async () => (await fixture.redis.zcard(queueKeys(fixture).dead)) === 1)
  const registry = await fixture.registry({ access })
  await eventually(async () => (await jsonOf(await registry.get('api/failures'))).calls.length === 1)
  return { registry, dead: job.id, later: later.id }
}

describe('a task that is hidden', () => {
  it('is nowhere for those it is hidden from, and everywhere for the others', async () => {
    const { registry, dead } = await withBoth()
    const paths = [
      ...['api/overview', 'api/tasks', 'api/workers', 'api/queues', 'api/slow', 'api/failures', 'api/unanswered'],
      ...['api/history?range=15m', 'api/schedules', 'metrics', 'openapi.json', 'api/tasks/mail/send:1.0'],
      ...[
        'api/jobs?state=dead',
        'api/jobs?state=scheduled',
        'api/jobs?state=done',
        'api/jobs?state=dead&text=money',
        'api/search?text=out',
      ],
    ]
    const [worker] = await jsonOf(await registry.get('api/workers'))
    for (const path of [...paths, `api/workers/${worker.id}`]) {
      const response = await registry.get(path, 'view')
      expect([path, response.status]).toEqual([path, 200])
      expect(await response.text(), path).not.toMatch(/pay|no money|hourly/)
    }
    for (const path of ['api/tasks', 'api/workers', 'api/failures', 'api/schedules', 'metrics', 'openapi.json'])
      expect(await (await registry.get(path)).text(), path).toMatch(/pay(\/|%2F)out/)
    const gone = ['api/tasks/pay/out:1.0', `api/jobs/${dead}`, `api/jobs/${dead}?queue=q&state=dead`]
    for (const path of [...gone, 'api/keys?task=pay/out:1.0&key=k', 'api/history?range=15m&task=pay/out:1.0']) {
      const response = await registry.get(path, 'view')
      expect([path, response.status]).toEqual([path, 404])
      expect((await registry.get(gone[0]!)).status).toBe(200)
    }
    const overview = async (role: 'view' | 'admin') => (await jsonOf(await registry.get('api/overview', role))).tasks
    expect([await overview('view'), await overview('admin')]).toEqual([1, 2])
    const counted = await jsonOf(await registry.get('api/jobs-matching?state=dead', 'view'))
    expect([counted.matching, (await jsonOf(await registry.get('api/jobs-matching?state=dead'))).matching]).toEqual([
      0, 1,
    ])
  })

  it('takes no place among the keys that are found, nor is told by there being more of them', async () => {
    fixture.allowLeftovers()
    const hidden = defineTask('pay/in:1.0', { keyed: 'ordered' }, () => 1)
    await (await fixture.worker([hidden, mail])).stop()
    const hub = fixture.hub()
    for (let at = 0; at < 7; at++) {
      await hub.enqueue('pay/in:1.0', {}, { key: `order ${at}`, delayMs: 60_000 })
      await hub.enqueue('pay/in:1.0', {}, { key: `order ${at}` })
    }
    await hub.enqueue('mail/send:1.0', {}, { key: 'order 9', delayMs: 60_000 })
    const registry = await fixture.registry({ access })
    const found = async (text: string, role: 'view' | 'admin') => {
      const { keys, isCut } = await jsonOf(await registry.get(`api/search?text=${text}`, role))
      return [keys.map(({ key }: { key: string }) => key), isCut]
    }
    expect(await found('order', 'view')).toEqual([['order 9'], false])
    expect(await found('order%203', 'view')).toEqual([[], false])
    const [keys, isCut] = await found('order', 'admin')
    expect([keys.length, isCut]).toEqual([6, true])
  })

  it('is in no live stream', async () => {
    const { registry } = await withBoth()
    const first = async (role: 'view' | 'admin') => {
      const end = new AbortController()
      const response = await fetch(registry.at('api/live'), { headers: bearer(role), signal: end.signal })
      let text = ''
      for await (const part of response.body!) {
        text += Buffer.from(part).toString()
        if (text.includes('\n\n')) break
      }
      end.abort()
      return text
    }
    expect(await first('view')).toMatch(/mail\/send:1\.0/)
    expect(await first('view')).not.toContain('pay')
    expect(await first('admin')).toContain('pay/out:1.0')
  })

  it('is run by nobody it is hidden from, and told from none that there is not', async () => {
    const { registry } = await withBoth()
    const told = async (path: string) => {
      const response = await registry.post(path, {}, { role: 'run' })
      return [response.status, (await response.text()).replaceAll(/pay\/out|no\/such/g, 'x')]
    }
    for (const way of ['call', 'enqueue'])
      expect(await told(`api/${way}/pay/out:1.0`)).toEqual(await told(`api/${way}/no/such:1.0`))
    // Also by a name without its version.
    expect((await registry.post('api/call/pay/out', {}, { role: 'run' })).status).toBe(403)
    expect((await registry.post('api/enqueue/mail/send:1.0', { options: { key: 'a' } }, { role: 'run' })).status).toBe(
      200,
    )
    // Whoever sees all of it may still be kept from running it.
    expect((await registry.post('api/enqueue/mail/send:1.0', { options: { key: 'a' } })).status).toBe(403)
    expect(await jsonOf(await registry.post('api/call/pay/out:1.0', {}))).toBe(1)
  })

  it('has no job or schedule that those it is hidden from could change, if they are admins', async () => {
    const { dead, later } = await withBoth()
    const registry = await fixture.registry({ access: { tasks: [{ who: ['*'], see: ['mail/*'] }] } })
    const post = async (path: string, body: object = {}) => {
      const response = await registry.post(path, body)
      return [response.status, await jsonOf(response)] as const
    }
    for (const action of ['cancel', 'cancel-chain', 'reveal'])
      expect((await post(`api/jobs/${later}/${action}`, { queue: 'q', state: 'scheduled' }))[0]).toBe(404)
    expect(await post(`api/jobs/${dead}/delete`, { queue: 'q' })).toEqual([200, { id: dead, changed: false }])
    expect((await post(`api/jobs/${dead}/retry`, { queue: 'q' }))[0]).toBe(403)
    for (const [action, state] of [
      ['delete', 'dead'],
      ['cancel', 'scheduled'],
    ] as const) {
      const [, step] = await post(`api/jobs-matching/${action}`, { state, task: 'pay/out:1.0' })
      expect(step).toMatchObject({ matching: 0, changed: 0 })
    }
    for (const action of ['pause', 'resume', 'run', 'remove'])
      expect((await post(`api/schedules/q/hourly/${action}`))[0]).toBe(404)
    const own = { name: 'hourly', cron: '0 * * * *', task: 'mail/send:1.0', key: 'k' }
    expect((await post('api/schedules', own))[0]).toBe(403)
    const keys = queueKeys(fixture)
    expect([await fixture.redis.zcard(keys.dead), await fixture.redis.zcard(keys.scheduled)]).toEqual([1, 1])
    expect(await fixture.hub().schedules('q').list()).toMatchObject([{ task: 'pay/out:1.0', pausedMs: undefined }])
  })

  it('leaves a line in the log when somebody tries to run it, or has a job shown', async () => {
    const { dead } = await withBoth()
    const lines: Record<string, unknown>[] = []
    const app = fastify({ logger: { level: 'error', stream: { write: line => void lines.push(JSON.parse(line)) } } })
    const hub = { redis: fixture.url, namespace: fixture.namespace, logLevel: 'silent' as const }
    const { run: runToken, admin: adminToken } = tokens
    const proxy = { userHeader: 'X-User', behindProxy: ['127.0.0.1'] }
    const rules = { ...access, roles: { admin: ['user:ann'] } }
    await app.register(plugin, { prefix: '/hub', hub, runToken, adminToken, ...proxy, access: rules })
    fixture.onEnd(() => app.close())
    const post = (url: string, headers: Record<string, string>) =>
      app.inject({ method: 'POST', url, headers: { host: home, ...json, ...headers }, payload: '{}' })
    await post('/hub/api/call/pay/out:1.0', bearer('run'))
    await post('/hub/api/enqueue/pay/out:1.0', bearer('run'))
    await post(`/hub/api/jobs/${dead}/reveal`, { 'x-user': 'ann', 'sec-fetch-site': 'same-origin' })
    const told = lines.map(({ audit, msg, who, role, code, task }) => [
      audit,
      msg,
      String(who).replace(/:\w{8}$/, ''),
      role,
      code ?? task,
    ])
    expect(told).toEqual([
      ['run', 'task run', 'run', undefined, 'Forbidden'],
      ['access', 'refused', 'run', undefined, 'Forbidden'],
      ['access', 'refused', 'run', undefined, 'Forbidden'],
      ['job', 'job revealed', 'user:ann', 'admin', 'pay/out:1.0'],
    ])
  })
})

describe('rules', () => {
  const of = (access: object, who: object) => {
    const rights = new Rules(['*'], access).of({ role: 'view', key: 'k', token: 't', ...who })
    return ['a:1.0', 'b:1.0'].map(task => `${rights.sees(task) ? 's' : '-'}${rights.runs(task) ? 'r' : '-'}`).join(' ')
  }
  const user = { user: { name: 'ann', groups: ['ops', 'dev'] } }

  it('are tried in their order, and whoever none fits has no task', () => {
    expect(of({}, {})).toBe('sr sr')
    expect(of({ tasks: [] }, {})).toBe('-- --')
    const tasks = [
      { who: ['group:ops'], see: ['a*'], run: [] },
      { who: ['user:a*'], see: ['*'], run: ['b*'] },
      { who: ['token:view'], see: ['b:*'] },
    ]
    expect(of({ tasks }, user)).toBe('s- --')
    expect(of({ tasks: tasks.slice(1) }, user)).toBe('s- sr')
    expect(of({ tasks }, { tokenRole: 'view' })).toBe('-- sr')
    // A user of the role is not whoever shows its token.
    expect(of({ tasks: tasks.slice(2) }, user)).toBe('-- --')
    expect(of({ tasks: [{ who: ['*'], see: ['a:1.0'], run: ['*'] }] }, user)).toBe('sr --')
  })

  it.each([
    [[], 'must be an object with roles and tasks'],
    [{ task: [] }, 'knows no "task" in it, only roles, tasks'],
    [{ roles: { boss: [] } }, 'knows no "boss" in roles, only view, run, admin'],
    [{ roles: { view: 'user:a' } }, 'must have a list in roles.view'],
    [{ roles: { view: ['grop:a'] } }, 'has in roles.view[0] "grop:a", which is not like'],
    [{ roles: { view: ['*'] } }, 'has in roles.view[0] "*"'],
    [{ roles: { view: ['role:admin'] } }, 'has in roles.view[0] "role:admin"'],
    [{ tasks: {} }, 'must have a list of rules in tasks'],
    [{ tasks: [{ who: ['*'] }] }, 'must have a list in tasks[0].see'],
    [{ tasks: [{ see: ['*'] }] }, 'must have a list in tasks[0].who'],
    [{ tasks: [{ who: ['token:boss'], see: ['*'] }] }, 'has in tasks[0].who[0] "token:boss"'],
    [{ tasks: [{ who: ['*'], see: ['a b'] }] }, 'has in tasks[0].see[0] "a b"'],
    [{ tasks: [{ who: ['*'], see: ['*'], runs: [] }] }, 'knows no "runs" in tasks[0], only who, see, run'],
  ])('%j are refused with what is wrong', (wrong, message) => {
    expect(() => readSettings('registry', { options: { access: wrong } })).toThrow(`option 'access' ${message}`)
  })

  it('are read from the file that a flag or a variable names', () => {
    const folder = mkdtempSync(join(tmpdir(), 'pshub-access-'))
    fixture.onEnd(async () => rmSync(folder, { recursive: true }))
    const path = join(folder, 'access.json')
    writeFileSync(path, JSON.stringify(access))
    expect(readSettings('registry', { flags: { access: path } }).access).toEqual(access)
    writeFileSync(path, '{')
    const env = { PSHUB_REGISTRY_ACCESS: path }
    expect(() => readSettings('registry', { env })).toThrow(
      /^PSHUB_REGISTRY_ACCESS must be the path of a JSON file .*read: /,
    )
  })
})
