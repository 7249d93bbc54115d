import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { defineTask, TaskError } from '../../src/index.ts'
import { errorTable } from '../../src/wire/errors.ts'
import { eventually } from '../support/hub-fixture.ts'
import { jsonOf, type TestRegistry, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()

const numbers = {
  type: 'object',
  properties: { a: { type: 'number' }, b: { type: 'number' } },
  required: ['a', 'b'],
  additionalProperties: false,
} as const

const add = defineTask('math/add:1.0', { args: numbers, idempotent: true }, ({ a, b }) => a + b)
const echo = defineTask('echo:1.2', {}, (value: unknown) => value)
const nothing = defineTask('nothing:1.0', {}, () => undefined)
const fail = defineTask('fail:1.0', {}, () => {
  throw new TaskError('no luck', { retryable: true, data: { why: 'chance' } })
})
const missing = defineTask('missing:1.0', {}, () => {
  throw new TaskError('no such city', { code: 'NoSuchCity', status: 404 })
})
const wrong = defineTask('wrong:1.0', { result: { type: 'string' } }, () => 5 as never)

const heard: { aborted: boolean }[] = []
const slow = defineTask('slow:1.0', { timeoutMs: 60_000 }, async (_args: unknown, context) => {
  const run = { aborted: false }
  heard.push(run)
  context.signal.addEventListener('abort', () => {
    run.aborted = true
  })
  await new Promise(resolve => context.signal.addEventListener('abort', resolve))
  return 'late'
})

const call = (registry: TestRegistry, task: string, body?: unknown, headers: Record<string, string> = {}) =>
  registry.post(`api/call/${task}`, body, { role: 'run', headers })

const started = async (options?: object) => {
  await fixture.worker([add, echo, nothing, fail, missing, wrong, slow])
  return fixture.registry(options)
}

describe('POST /api/call/<task>', () => {
  it('answers with the result, and where the time went', async () => {
    const registry = await started()
    for (const name of ['math/add:1.0', 'math%2Fadd:1', 'math/add']) {
      const response = await call(registry, name, { a: 1, b: 2 })
      expect([name, response.status, await response.text()]).toEqual([name, 200, '3'])
      expect(response.headers.get('content-type')).toBe('application/json; charset=utf-8')
      expect(response.headers.get('server-timing')).toMatch(
        /^backlog;dur=[\d.]+, queue;dur=[\d.]+, exec;dur=[\d.]+, reply;dur=[\d.]+, total;dur=[\d.]+$/,
      )
      const phases = JSON.parse(response.headers.get('pshub-phases')!)
      expect(phases.total).toBeGreaterThanOrEqual(phases.exec)
      expect(Object.keys(phases)).toEqual(['backlog', 'queue', 'exec', 'reply', 'total'])
    }
  })

  it('passes any JSON on as it is; no body is {}, no result null', async () => {
    const registry = await started()
    for (const body of ['null', '0', 'false', '""', '[1,[]]', '{"a":{"b":"<script>"}}', '{"constructor":1}']) {
      const response = await call(registry, 'echo:1.2', body)
      expect([body, await response.text()]).toEqual([body, body])
    }
    expect(await (await call(registry, 'echo')).text()).toBe('{}')
    expect(await (await call(registry, 'nothing:1.0')).text()).toBe('null')
  })

  it('refuses what is no JSON or would pollute prototypes', async () => {
    const registry = await started()
    const bodies = [
      '{',
      '{"a":1,}',
      '{"__proto__":{"polluted":1}}',
      '[{"x":{"\\u005f_proto__":1}}]',
      '{"constructor":{"prototype":1}}',
    ]
    for (const body of bodies) {
      const response = await call(registry, 'echo:1.2', body)
      expect([body, response.status, (await jsonOf(response)).code]).toEqual([body, 400, 'BadRequest'])
    }
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  it('gives each class of errors its status', async () => {
    const registry = await started()
    const failing: [string, unknown, Record<string, string>, keyof typeof errorTable][] = [
      ['unknown:1.0', {}, {}, 'NoSuchTask'],
      ['math/add:1.0', { a: 1, b: 'x' }, {}, 'InvalidArgs'],
      ['fail:1.0', {}, {}, 'TaskFailed'],
      ['wrong:1.0', {}, {}, 'InvalidResult'],
      ['slow:1.0', {}, { 'pshub-timeout-ms': '3000' }, 'Timeout'],
    ]
    for (const [task, body, headers, code] of failing) {
      const response = await call(registry, task, body, headers)
      const error = await jsonOf(response)
      const { status, ran, meaning: title } = errorTable[code]
      expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/)
      expect([task, response.status]).toEqual([task, status])
      expect(error).toMatchObject({ type: `urn:problem-type:pshub:${code}`, title, status, code, ran })
      expect(error.detail).not.toMatch(/\n\s+at /)
    }
  })

  it('says which fields do not fit, and what a handler said', async () => {
    const registry = await started()
    const invalid = await jsonOf(await call(registry, 'math/add:1.0', { a: 'x', c: 1 }))
    expect(invalid.data.problems.map(({ pointer }: { pointer: string }) => pointer).sort()).toEqual(['/a', '/b', '/c'])
    const response = await call(registry, 'fail:1.0', {})
    const error = await jsonOf(response)
    expect(error).toMatchObject({ detail: 'no luck', retryable: true, data: { why: 'chance' }, task: 'fail:1.0' })
    expect(response.headers.get('pshub-id')).toBe(error.id)
    expect(JSON.parse(response.headers.get('pshub-phases')!)).toHaveProperty('exec')
  })

  it('answers with the status and the code that the handler chose', async () => {
    const response = await call(await started(), 'missing:1.0', {})
    const error = await jsonOf(response)
    expect([response.status, error.code]).toEqual([404, 'NoSuchCity'])
    expect(error).toMatchObject({ title: 'NoSuchCity', ran: 'yes', detail: 'no such city' })
  })

  it('says that no worker is left', async () => {
    const worker = await fixture.worker([echo])
    await worker.stop({ graceMs: 0 })
    const registry = await fixture.registry()
    const response = await call(registry, 'echo:1.2', {})
    expect([response.status, (await jsonOf(response)).code]).toEqual([503, 'NoWorkers'])
    expect(response.headers.get('retry-after')).toBe('1')
  })

  it('refuses timeouts that are none', async () => {
    const registry = await started()
    for (const timeout of ['0', '-1', '1.5', '1e3', '600001', 'NaN', '1e400', '', '9'.repeat(400)]) {
      const response = await call(registry, 'echo:1.2', {}, { 'pshub-timeout-ms': timeout })
      expect([timeout, response.status, (await jsonOf(response)).code]).toEqual([timeout, 400, 'InvalidArgs'])
    }
    expect((await call(registry, 'echo:1.2', {}, { 'pshub-timeout-ms': '600000' })).status).toBe(200)
  })

  it('answers hostile names of tasks cleanly', async () => {
    const registry = await started()
    const names = [
      'constructor',
      '__proto__',
      'toString',
      'a%2F..%2Fb',
      '%00',
      '%0a',
      'x%0d%0aset-cookie:a',
      '%f0%9f',
      '',
      ' ',
      'a'.repeat(5000),
    ]
    for (const name of names) {
      const response = await call(registry, name, {})
      expect([400, 404], name).toContain(response.status)
      expect((await jsonOf(response)).detail, name).not.toMatch(/\n\s+at |TypeError/)
      expect(response.headers.get('set-cookie')).toBeNull()
    }
  })

  it('ends a call whose client has gone', async () => {
    const registry = await started()
    const before = heard.length
    const client = new AbortController()
    const headers = { authorization: 'Bearer the-token-of-runners', 'content-type': 'application/json' }
    const gone = fetch(registry.at('api/call/slow:1.0'), { method: 'POST', headers, body: '{}', signal: client.signal })
    await eventually(() => heard.length > before)
    client.abort()
    await expect(gone).rejects.toThrow()
    // The worker hears of it with its next beat.
    await eventually(() => heard[before]!.aborted)
    // Its reply comes a moment later: behind the end of the hub it would lie there for a minute.
    await eventually(async () => (await fixture.keys()).every(key => !key.includes(':held:')))
  })

  it('runs only what it is set to', async () => {
    const registry = await started({ runTasks: ['math/*', 'echo:1.2'] })
    const statusOf = async (task: string) => (await call(registry, task, {})).status
    expect(await statusOf('echo:1.2')).toBe(200)
    expect(await statusOf('math/add:1.0')).toBe(400)
    for (const task of ['echo', 'echo:1', 'fail:1.0', 'xecho:1.2', 'Math/add:1.0'])
      expect([task, await statusOf(task)]).toEqual([task, 403])
    const detail = async (task: string) => (await jsonOf(await registry.get(`api/tasks/${task}`))).runnable
    expect([await detail('echo:1.2'), await detail('fail:1.0')]).toEqual([true, false])
  })

  it('runs nothing where it is read-only', async () => {
    const registry = await started({ readOnly: true })
    const response = await registry.post('api/call/echo:1.2', {})
    const error = await jsonOf(response)
    expect([response.status, error.title, error.code, error.detail]).toEqual([
      403,
      'Forbidden',
      'Forbidden',
      expect.stringContaining('read-only'),
    ])
    expect(await jsonOf(await registry.get('api/session'))).toMatchObject({ role: 'admin', readOnly: true })
  })

  it('starts so many runs a second for one token, and says when to go on', async () => {
    const registry = await started({ maxRunsPerSecond: 3 })
    const responses = await Promise.all(Array.from({ length: 8 }, () => call(registry, 'echo:1.2', {})))
    const refused = responses.filter(({ status }) => status === 429)
    expect(refused.length).toBeGreaterThan(0)
    expect(responses.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(3)
    expect(refused[0]!.headers.get('retry-after')).toBe('1')
    expect((await registry.post('api/call/echo:1.2', {}, { role: 'admin' })).status).toBe(200)
  })
})

describe('the log', () => {
  it('has a line for each run, without its payload', async () => {
    const { registry, lines } = await registryWithLog()
    const secret = { password: 'canary-7421' }
    await call(registry, 'echo:1.2', secret)
    await call(registry, 'fail:1.0', secret)
    await call(registry, 'forbidden:1.0', secret)
    const runs = lines().filter(({ audit }) => audit === 'run')
    const argsHash = createHash('sha256').update(JSON.stringify(secret)).digest('hex').slice(0, 12)
    const common = {
      who: expect.stringMatching(/^run:[0-9a-f]{8}$/),
      address: '127.0.0.1',
      argsHash,
      ms: expect.any(Number),
    }
    expect(runs).toMatchObject([
      { ...common, task: 'echo:1.2', code: 'ok' },
      { ...common, task: 'fail:1.0', code: 'TaskFailed' },
      { ...common, task: 'forbidden:1.0', code: 'Forbidden' },
    ])
    expect(JSON.stringify(lines())).not.toContain('canary')
    expect(JSON.stringify(lines())).not.toContain('the-token-of')
  })
})

/** In a server of one's own, whose logger is at hand. */
const registryWithLog = async () => {
  const { default: fastify } = await import('fastify')
  const { registry: plugin } = await import('pshub-registry')
  const { clientOf, tokens } = await import('../support/registry-fixture.ts')
  await fixture.worker([echo, fail])
  let text = ''
  const app = fastify({ logger: { level: 'warn', stream: { write: (line: string) => void (text += line) } } })
  const hub = { redis: fixture.url, namespace: fixture.namespace, logLevel: 'silent' }
  await app.register(plugin, { prefix: '/tasks', hub, runToken: tokens.run, runTasks: ['echo*', 'fail*'] })
  const url = `${await app.listen({ port: 0 })}/tasks/`
  fixture.onEnd(() => app.close())
  const lines = () =>
    text
      .split('\n')
      .filter(Boolean)
      .map(line => JSON.parse(line))
  return { registry: clientOf({ url, token: undefined, code: undefined, close: () => app.close() }), lines }
}
