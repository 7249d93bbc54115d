import fastify from 'fastify'
import { registry as plugin } from 'pshub-registry'
import { describe, expect, it, vi } from 'vitest'
import { TokenBook } from '../../registry/server/tokens.ts'
import { defineTask } from '../../src/index.ts'
import { eventually } from '../support/hub-fixture.ts'
import { cookieOf, home, mountIn } from '../support/mounted-registry.ts'
import { bearer, json, jsonOf, tokens, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const mounted = mountIn(fixture)

/** In a server with a log whose lines are kept. */
const logged = async (trustProxy = false) => {
  const lines: string[] = []
  const app = fastify({ trustProxy, logger: { level: 'error', stream: { write: line => void lines.push(line) } } })
  const { view: viewToken, run: runToken, admin: adminToken } = tokens
  const hub = { redis: fixture.url, namespace: fixture.namespace, logLevel: 'silent' as const }
  await app.register(plugin, { prefix: '/hub', hub, viewToken, runToken, adminToken, maxRunsPerSecond: 2 })
  fixture.onEnd(() => app.close())
  await app.ready()
  return { app, lines, audited: () => lines.map(line => JSON.parse(line)).filter(({ audit }) => audit === 'access') }
}

describe('the log', () => {
  it('has a line for each job that is enqueued, with a digest of its arguments', async () => {
    await fixture.worker([defineTask('order:1.0', {}, () => null)])
    const { app, lines } = await logged()
    const headers = { ...bearer('run'), ...json, host: '127.0.0.1' }
    const payload = { args: { note: 'private' }, options: { delayMs: 60_000 } }
    const answer = await app.inject({ method: 'POST', url: '/hub/api/enqueue/order:1.0', headers, payload })
    const told = lines.map(line => JSON.parse(line)).filter(({ audit }) => audit === 'enqueue')
    const argsHash = expect.stringMatching(/^[0-9a-f]{8,}$/)
    expect(told).toMatchObject([
      { who: expect.stringMatching(/^run:/), task: 'order:1.0', argsHash, id: answer.json().id },
    ])
    expect(lines.join()).not.toContain('private')
    fixture.allowLeftovers()
  })

  it('has a line for each template that is saved or deleted, and none of what is in it', async () => {
    const { app, lines } = await logged()
    const post = (url: string, payload: object) =>
      app.inject({
        method: 'POST',
        url: `/hub/api/${url}/order:1.0`,
        headers: { ...bearer('run'), ...json, host: '127.0.0.1' },
        payload,
      })
    expect((await post('templates', { name: 'big', args: { note: 'private' } })).statusCode).toBe(200)
    expect((await post('template-removal', { name: 'big' })).statusCode).toBe(200)
    const told = lines.map(line => JSON.parse(line)).filter(({ audit }) => audit === 'template')
    const [who, task, name] = [expect.stringMatching(/^run:/), 'order:1.0', 'big']
    expect(told).toMatchObject([
      { msg: 'template saved', who, task, name },
      { msg: 'template deleted', who, task, name, changed: true },
    ])
    expect(lines.join()).not.toContain('private')
  })

  it('has a line for each log-in, log-out and refusal: who, from where and why, and never a token', async () => {
    const { app, lines, audited } = await logged()
    const { cookie } = await cookieOf(app, 'run')
    const own = { host: home, cookie, ...json, 'sec-fetch-site': 'same-origin' }
    const ask = (method: string, url: string, headers: Record<string, string>, payload = '{}') =>
      app.inject({
        method: method as 'GET',
        url,
        headers: { host: home, ...headers },
        ...(method === 'POST' ? { payload } : {}),
      })
    await ask('POST', '/hub/api/queues/q/pause', own)
    await ask('POST', '/hub/api/logout', own)
    await ask('GET', '/hub/api/tasks', { cookie })
    await ask('GET', '/hub/api/tasks', { authorization: 'Bearer wrong-token-of-somebody' })
    await ask('POST', '/hub/api/login', json, '{"token":"wrong-token-of-somebody"}')
    await ask('GET', '/hub/api/tasks', { ...bearer('view'), 'sec-fetch-site': 'cross-site' })
    await ask('GET', '/hub/api/tasks', { host: 'evil.example' })
    // All within one second of the limit, however long this machine takes for it.
    vi.useFakeTimers({ toFake: ['Date'] })
    fixture.onEnd(() => vi.useRealTimers())
    for (let runs = 0; runs < 3; runs++) await ask('POST', '/hub/api/call/none', { ...bearer('run'), ...json })
    const told = audited().map(({ msg, who, code, address, route }) => {
      expect(address).toBe('127.0.0.1')
      return [msg, who?.replace(/:\w{8}$/, ''), code, route]
    })
    expect(told).toEqual([
      ['logged in', 'run', undefined, undefined],
      ['refused', 'run', 'Forbidden', '/hub/api/queues/:queue/pause'],
      ['logged out', 'run', undefined, undefined],
      ['refused', 'nobody', 'Unauthorized', '/hub/api/tasks'],
      ['refused', 'nobody', 'Unauthorized', '/hub/api/tasks'],
      ['refused', 'nobody', 'Unauthorized', '/hub/api/login'],
      ['refused', 'nobody', 'Forbidden', '/hub/api/tasks'],
      ['refused', 'nobody', 'WrongHost', '/hub/api/tasks'],
      ['refused', 'run', 'TooManyRequests', '/hub/api/call/*'],
    ])
    for (const secret of [...Object.values(tokens), cookie.split('=')[1]!, 'wrong-token-of-somebody'])
      expect(lines.join('')).not.toContain(secret)
  })

  it('is not filled by whoever is refused again and again', async () => {
    const { app, audited } = await logged()
    for (let tries = 0; tries < 30; tries++) await app.inject({ url: '/hub/api/tasks', headers: { host: home } })
    expect(audited()).toHaveLength(11)
    expect(audited().at(-1).msg).toContain('further requests like it are not logged for a minute')
  })
})

describe('one token', () => {
  it('cannot take all live pages', async () => {
    const registry = await fixture.registry()
    const end = new AbortController()
    const cookie = await registry.logIn('view')
    const open = (headers: Record<string, string>) => fetch(registry.at('api/live'), { headers, signal: end.signal })
    // Its sessions count as itself.
    // Kept, because the stream of a response that nobody refers to any more is closed.
    const pages: Response[] = []
    while (pages.length < 33) pages.push(await open(pages.length % 2 ? bearer('view') : { cookie }))
    expect(new Set(pages.map(({ status }) => status))).toEqual(new Set([200]))
    expect((await open(bearer('view'))).status).toBe(503)
    expect((await open({ cookie })).status).toBe(503)
    expect((await open(bearer('admin'))).status).toBe(200)
    expect(pages.every(({ bodyUsed }) => !bodyUsed)).toBe(true)
    end.abort()
    await expect
      .poll(async () => {
        const again = new AbortController()
        const { status } = await fetch(registry.at('api/live'), { headers: bearer('view'), signal: again.signal })
        again.abort()
        return status
      })
      .toBe(200)
  })

  it('has a bounded number of runs under way', async () => {
    let release = () => {}
    const released = new Promise<void>(resolve => (release = resolve))
    const wait = defineTask('wait:1.0', { timeoutMs: 60_000 }, () => released)
    const worker = await fixture.worker([wait], { slots: 32 })
    const registry = await fixture.registry({ maxRunsPerSecond: 2 })
    const run = (headers: Record<string, string>) =>
      fetch(registry.at('api/call/wait:1.0'), { method: 'POST', headers: { ...json, ...headers }, body: '{}' })
    // Each session may start two a second; the bound counts all sessions of the token together.
    const running: Promise<Response>[] = []
    for (let session = 0; session < 10; session++) {
      const headers = { cookie: await registry.logIn('run'), 'sec-fetch-site': 'same-origin' }
      running.push(run(headers), run(headers))
    }
    await eventually(() => worker.busy === 20)
    const refused = await run(bearer('run'))
    expect([refused.status, (await jsonOf(refused)).detail]).toEqual([
      429,
      expect.stringMatching(/^20 runs of this token are in flight/),
    ])
    release()
    expect((await Promise.all(running)).map(({ status }) => status)).toEqual(Array(20).fill(200))
    await eventually(async () => (await run(bearer('run'))).status === 200)
  })
})

describe('a proxy', () => {
  it('is believed by its address, and nobody else', async () => {
    const { app } = await mounted({ behindProxy: ['10.0.0.0/8', '::1'], allowedHosts: ['hub.example'] })
    const ask = (remoteAddress: string, headers: Record<string, string>) =>
      app.inject({ url: '/hub/', remoteAddress, headers: { host: home, ...headers } })
    for (const [peer, isProxy] of [
      ['10.1.2.3', true],
      ['::ffff:10.9.9.9', true],
      ['::1', true],
      ['11.0.0.1', false],
      ['::2', false],
      ['127.0.0.1', false],
    ] as const) {
      const named = await ask(peer, { 'x-forwarded-host': 'evil.example' })
      expect([peer, named.statusCode]).toEqual([peer, isProxy ? 421 : 200])
      const byTls = await ask(peer, { 'x-forwarded-host': 'hub.example', 'x-forwarded-proto': 'https' })
      expect([peer, byTls.headers['strict-transport-security']]).toEqual([
        peer,
        isProxy ? 'max-age=31536000' : undefined,
      ])
    }
  })

  it('says who asks: the last address that is no proxy, and only where it is one', async () => {
    const statusesAt = async (behindProxy: string[]) => {
      const registry = await fixture.registry({ behindProxy })
      const attempt = async (address: string) => {
        const headers = { ...json, 'x-forwarded-for': address }
        return (await fetch(registry.at('api/login'), { method: 'POST', headers, body: '{"token":"wrong"}' })).status
      }
      const statuses: number[] = []
      for (let tries = 0; tries < 12; tries++) statuses.push(await attempt(`203.0.113.${tries}, 10.0.0.7`))
      return statuses
    }
    expect(new Set(await statusesAt(['127.0.0.1', '10.0.0.0/8']))).toEqual(new Set([401]))
    // The one before the last could be anybody's word.
    expect((await statusesAt(['127.0.0.1'])).at(-1)).toBe(429)
    expect((await statusesAt([])).at(-1)).toBe(429)
  })
})

describe('a code', () => {
  it('logs in once, and not after its time', () => {
    const book = new TokenBook(tokens)
    book.addCode('code', 'admin', 0)
    expect(book.byCode('other', 1)).toBeUndefined()
    expect(book.byCode('code', 15 * 60_000 - 1)).toMatchObject({ role: 'admin' })
    expect(book.byCode('code', 1)).toBeUndefined()
    book.addCode('late', 'admin', 0)
    expect(book.byCode('late', 15 * 60_000)).toBeUndefined()
    expect(book.byToken('late')).toBeUndefined()
  })
})
