import { describe, expect, it } from 'vitest'
import { TokenBook } from '../../registry/server/tokens.ts'
import { jsonOf, tokens, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()

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
      expect((await jsonOf(response)).error.code).toBe('Unauthorized')
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
      new RegExp(`^pshub_registry_${port}=run\\.[\\w.-]+; Max-Age=43200; Path=/; HttpOnly; SameSite=Strict$`),
    )
  })

  it('has a name that browsers protect, behind TLS, and one for each registry of a server', async () => {
    const nameAt = async (basePath: string) => {
      const registry = await fixture.registry({ behindProxy: true, allowedHosts: ['hub.example'], basePath })
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
    expect(await roleAt(await fixture.registry({ adminToken: 'another-token-for-admins' }))).toBe(401)
    expect(await roleAt(registry)).toBe('run')
    const headers = { cookie, 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' }
    const out = await fetch(registry.at('api/logout'), { method: 'POST', headers, body: '{}' })
    expect([out.status, out.headers.get('set-cookie')]).toEqual([204, expect.stringContaining('=; Max-Age=0;')])
    expect(await roleAt(registry)).toBe(401)
  })

  it('that was changed in any character is none', () => {
    const book = new TokenBook(tokens)
    const session = book.startSession('view', 0)
    expect(book.bySession(session, 1)).toMatchObject({ role: 'view' })
    for (let at = 0; at < session.length; at++) {
      for (const other of ['A', '.', '9']) {
        const changed = session.slice(0, at) + other + session.slice(at + 1)
        // The last character of base64url carries bits that do not count; the text has to be the same all the same.
        if (changed !== session) expect(book.bySession(changed, 1), changed).toBeUndefined()
      }
    }
    for (const text of [
      '',
      '...',
      session.replace('view', 'admin'),
      `${session}=`,
      session.slice(0, -1),
      `${session} `,
    ])
      expect(book.bySession(text, 1), text).toBeUndefined()
  })

  it('ends after twelve hours', () => {
    const book = new TokenBook(tokens)
    const session = book.startSession('view', 1000)
    expect(book.bySession(session, 1000 + 12 * 3600_000 - 1)).toBeDefined()
    expect(book.bySession(session, 1000 + 12 * 3600_000)).toBeUndefined()
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

  it('takes ten wrong tokens a minute of one address, and then not the right one either', async () => {
    const registry = await fixture.registry()
    const attempt = (token: string) => registry.post('api/login', { token })
    for (let tries = 0; tries < 10; tries++) expect((await attempt(`wrong ${tries}`)).status).toBe(401)
    const refused = await attempt(tokens.admin)
    expect(refused.status).toBe(429)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect((await jsonOf(refused)).error.code).toBe('TooManyRequests')
    // Who is in stays in.
    expect((await registry.get('api/session')).status).toBe(200)
  })
})
