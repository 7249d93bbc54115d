import { createHash } from 'node:crypto'
import fastify from 'fastify'
import { registry as plugin } from 'pshub-registry'
import { describe, expect, it } from 'vitest'
import { rulesOf } from '../../src/redis/rights.ts'
import { makeKeys } from '../../src/wire/keys.ts'
import { cookieOf, home } from '../support/mounted-registry.ts'
import { json, jsonOf, tokens, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()

/** A log whose lines are kept. */
const linesOf = () => {
  const lines: string[] = []
  return { lines, logger: { level: 'info', stream: { write: (line: string) => void lines.push(line) } } }
}

describe('a token', () => {
  it('gives its role, and no other text does', async () => {
    const registry = await fixture.registry()
    for (const role of ['view', 'run', 'admin'] as const) {
      const session = await (await registry.get('api/session', role)).json()
      expect(session).toEqual({ role, readOnly: false, namespace: fixture.namespace, version: expect.any(String) })
    }
    const { admin } = tokens
    const wrong = [
      'Bearer',
      `Bearer ${admin}x`,
      `Bearer ${admin.slice(1)}`,
      `Basic ${admin}`,
      admin,
      `Bearer ${admin} ${admin}`,
    ]
    for (const authorization of wrong) {
      const response = await fetch(registry.at('api/session'), { headers: { authorization } })
      expect([authorization, response.status]).toEqual([authorization, 401])
      expect(response.headers.get('www-authenticate')).toContain('Bearer')
      expect((await jsonOf(response)).code).toBe('Unauthorized')
    }
  })

  it('that is short, or the same for two roles, is refused without showing it', async () => {
    const start = (options: object) =>
      fixture.registry({ ...options }).catch((error: Error) => `${error.name}: ${error.message}`)
    const short = await start({ runToken: 'secret' })
    expect(short).toMatch(/^ConfigError: option 'runToken' must have 16/)
    expect(short).not.toContain('secret')
    expect(await start({ runToken: tokens.admin })).toBe('ConfigError: Tokens of different roles must differ.')
  })

  it('is made when none is given', async () => {
    const none = { viewToken: undefined, runToken: undefined, adminToken: undefined } as never
    const registry = await fixture.registry(none)
    expect(registry.token).toMatch(/^[\w-]{32}$/)
    const headers = { authorization: `Bearer ${registry.token}` }
    expect(await (await fetch(registry.at('api/session'), { headers })).json()).toMatchObject({ role: 'admin' })
    expect((await fixture.registry()).token).toBeUndefined()
  })
})

describe('a session', () => {
  it('is a cookie that scripts and other sites do not get', async () => {
    const registry = await fixture.registry()
    const headers = { 'content-type': 'application/json' }
    const body = JSON.stringify({ token: tokens.run })
    const response = await fetch(registry.at('api/login'), { method: 'POST', headers, body })
    expect(await response.json()).toMatchObject({ role: 'run' })
    const port = new URL(registry.url).port
    expect(response.headers.get('set-cookie')).toMatch(
      new RegExp(`^pshub_registry_${port}=[\\w-]{43}; Max-Age=43200; Path=/; HttpOnly; SameSite=Strict$`),
    )
  })

  it('has a name that browsers protect, behind TLS, and one for each registry of a server', async () => {
    const nameAt = async (basePath: string) => {
      const registry = await fixture.registry({ behindProxy: ['127.0.0.1'], allowedHosts: ['hub.example'], basePath })
      const headers = {
        'content-type': 'application/json',
        'x-forwarded-proto': 'https',
        'x-forwarded-host': 'hub.example',
      }
      const body = JSON.stringify({ token: tokens.run })
      const response = await fetch(registry.at('api/login'), { method: 'POST', headers, body })
      const cookie = response.headers.get('set-cookie')!
      expect(cookie).toMatch(
        /^__Host-pshub_registry_\w{8}=\S+; Max-Age=43200; Path=\/; HttpOnly; Secure; SameSite=Strict$/,
      )
      return cookie.split('=')[0]
    }
    expect(await nameAt('/a')).not.toBe(await nameAt('/b'))
  })

  it('outlives a restart, ends at logout, and when a token changes', async () => {
    const registry = await fixture.registry()
    const cookie = await registry.logIn('run')
    const value = cookie.split('=')[1]!
    const roleAt = async (other: typeof registry) => {
      const name = `pshub_registry_${new URL(other.url).port}`
      const response = await fetch(other.at('api/session'), { headers: { cookie: `${name}=${value}` } })
      return response.ok ? (await jsonOf(response)).role : response.status
    }
    expect(await roleAt(await fixture.registry())).toBe('run')
    expect(await roleAt(await fixture.registry({ runToken: 'another-token-for-runners' }))).toBe(401)
    expect(await roleAt(registry)).toBe('run')
    const headers = { cookie, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' }
    const out = await fetch(registry.at('api/logout'), { method: 'POST', headers, body: '{}' })
    expect([out.status, out.headers.get('set-cookie')]).toEqual([204, expect.stringContaining('=; Max-Age=0;')])
    expect(await roleAt(registry)).toBe(401)
  })

  it('in Redis holds no token, cannot be written by who has none, and is gone after twelve hours', async () => {
    const registry = await fixture.registry()
    const [name, session] = (await registry.logIn('view')).split('=') as [string, string]
    const key = makeKeys(fixture.namespace).session(createHash('sha256').update(session).digest('base64url'))
    const text = (await fixture.redis.get(key))!
    expect(text).not.toContain(session)
    for (const token of Object.values(tokens)) {
      const digests = ['sha256', 'sha1'].map(kind => createHash(kind).update(token).digest('base64url'))
      for (const found of [token, ...digests]) expect(text).not.toContain(found)
    }
    expect(await fixture.redis.pttl(key)).toBeLessThanOrEqual(12 * 3600_000)
    const other = await fixture.registry()
    const roleAt = async () => {
      const cookie = `${name!.replace(/\d+$/, new URL(other.url).port)}=${session}`
      const response = await fetch(other.at('api/session'), { headers: { cookie } })
      return response.ok ? (await jsonOf(response)).role : response.status
    }
    // Never seen there before, so that Redis is asked.
    for (const changed of [
      { ...JSON.parse(text), role: 'admin' },
      { ...JSON.parse(text), proof: undefined },
      { ...JSON.parse(text), untilMs: 1 },
      null,
    ]) {
      await fixture.redis.set(key, JSON.stringify(changed), 'PX', 60_000)
      expect(await roleAt()).toBe(401)
    }
    await fixture.redis.set(key, text, 'PX', 60_000)
    expect(await roleAt()).toBe('view')
  })

  it('that ended ends its live stream, and stays ended after a restart', async () => {
    const registry = await fixture.registry()
    const cookie = await registry.logIn('view')
    const stream = await fetch(registry.at('api/live'), { headers: { cookie } })
    expect(stream.status).toBe(200)
    const ended = stream.text()
    const headers = { cookie, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' }
    expect((await fetch(registry.at('api/logout'), { method: 'POST', headers, body: '{}' })).status).toBe(204)
    await ended
    const restarted = await fixture.registry()
    const again = { cookie: cookie.replace(/_\d+=/, `_${new URL(restarted.url).port}=`) }
    expect((await fetch(restarted.at('api/session'), { headers: again })).status).toBe(401)
  })

  it('is kept by the process where the Redis user may not, which says what it lacks', async () => {
    const keys = makeKeys(fixture.namespace)
    const rules = `on >secret resetkeys resetchannels -@all ${rulesOf('view', keys)} ${rulesOf('hub', keys)}`
    await fixture.redis.call('ACL', 'SETUSER', 'sessionless', ...rules.split(' '))
    fixture.onEnd(() => fixture.redis.call('ACL', 'DELUSER', 'sessionless'))
    const url = new URL(fixture.url)
    Object.assign(url, { username: 'sessionless', password: 'secret' })
    const { lines, logger } = linesOf()
    const app = fastify({ logger })
    const { view: viewToken } = tokens
    await app.register(plugin, {
      viewToken,
      hub: { redis: url.href, namespace: fixture.namespace, logLevel: 'silent' },
    })
    fixture.onEnd(() => app.close())
    const cookie = await cookieOf(app, 'view', '/')
    const ask = () => app.inject({ url: '/api/session', headers: { host: home, ...cookie } })
    expect((await ask()).statusCode).toBe(200)
    expect(lines.join('')).toContain('pshub check --for registry')
    await app.inject({
      method: 'POST',
      url: '/api/logout',
      headers: { host: home, ...cookie, ...json, 'sec-fetch-site': 'same-origin' },
      payload: '{}',
    })
    expect((await ask()).statusCode).toBe(401)
  })
})

describe('POST /api/login', () => {
  it('says what is wrong with what it got', async () => {
    const registry = await fixture.registry()
    const statusOf = async (body: string) => (await registry.post('api/login', body)).status
    for (const body of [
      '',
      '{}',
      'null',
      '[]',
      '{"token":7}',
      `{"token":"${'x'.repeat(600)}"}`,
      '{"__proto__":{}}',
      '{',
    ])
      expect([body.slice(0, 20), await statusOf(body)]).toEqual([body.slice(0, 20), 400])
    expect(await statusOf('{"token":"wrong"}')).toBe(401)
  })

  it('takes ten wrong tokens a minute of one address, and then not the right one either, in any way', async () => {
    const registry = await fixture.registry()
    const attempt = (token: string) => registry.post('api/login', { token })
    expect((await registry.get('api/session', 'view')).status).toBe(200)
    for (let tries = 0; tries < 10; tries++) expect((await attempt(`wrong ${tries}`)).status).toBe(401)
    for (const refused of [await attempt(tokens.admin), await registry.get('api/session', 'admin')]) {
      expect(refused.status).toBe(429)
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await jsonOf(refused)).code).toBe('TooManyRequests')
    }
    // What was let in from there before does not come from guessing.
    expect((await registry.get('api/session', 'view')).status).toBe(200)
  })
})
