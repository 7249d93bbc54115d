import { createServer, type Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { BegunCookie } from '../../registry/server/begun-cookie.ts'
import { client, goThrough, type Lies, startLoginProvider } from '../support/login-provider.ts'
import { json, jsonOf, useRegistry } from '../support/registry-fixture.ts'

/** Log-ins at a provider of OpenID Connect, over the network, with every way in which they can fail. */
const fixture = useRegistry()
const ann = { email: 'ann@example.com', email_verified: true, groups: ['ops', 'staff'] }
const access = { roles: { admin: ['group:ops'], view: ['user:*@example.com'] } }

const withProvider = async (user: Record<string, unknown> = ann, options: object = {}) => {
  const provider = await startLoginProvider(user)
  fixture.onEnd(() => provider.close())
  const settings = { oidcIssuer: provider.issuer, oidcClientId: client.id, oidcClientSecret: client.secret }
  const registry = await fixture.registry({ ...settings, access, ...options })
  return { provider, registry, settings }
}
const sessionOf = async (registry: { at(path: string): string }, cookie: string) => {
  const response = await fetch(registry.at('api/session'), { headers: { cookie } })
  return [response.status, await jsonOf(response)]
}

describe('a log-in at the provider', () => {
  it('leads back to the page, with a session of the user, which ends with a log-out', async () => {
    const { registry } = await withProvider()
    expect(await jsonOf(await fetch(registry.at('api/login')))).toEqual({ token: true, provider: true })
    const { begun, to, end, cookies } = await goThrough(registry.at, { back: '/tasks/a:1.0?q=x' })
    expect(begun.headers.get('set-cookie')).toMatch(/^pshub_begun_\d+=.*HttpOnly; SameSite=Lax$/)
    expect([end?.status, to]).toEqual([303, '/tasks/a:1.0?q=x'])
    const cookie = cookies.join('; ')
    expect(cookie).toMatch(/^pshub_registry_\d+=[\w-]{43}$/)
    expect(await sessionOf(registry, cookie)).toEqual([
      200,
      expect.objectContaining({ role: 'admin', user: 'ann@example.com', by: 'provider' }),
    ])
    const own = { ...json, cookie, 'sec-fetch-site': 'same-origin' }
    await fetch(registry.at('api/logout'), { method: 'POST', headers: own, body: '{}' })
    expect((await sessionOf(registry, cookie))[0]).toBe(401)
  })

  it('holds for all registries on this Redis, and only as long as its rules and its secret', async () => {
    const { registry, settings } = await withProvider()
    const cookie = (await goThrough(registry.at)).cookies[0]!
    const session = cookie.split('=')[1]!
    const asked = async (options: object) => {
      const other = await fixture.registry({ ...settings, access, ...options })
      const name = `pshub_registry_${new URL(other.url).port}`
      return (await sessionOf(other, `${name}=${session}`))[0]
    }
    expect(await asked({})).toBe(200)
    expect(await asked({ access: { roles: { view: ['group:ops'] } } })).toBe(401)
    expect(await asked({ oidcClientSecret: 'another-secret-of-it' })).toBe(401)
    expect(await asked({ oidcIssuer: undefined, oidcClientId: undefined, oidcClientSecret: undefined })).toBe(401)
    // Whoever can write to Redis cannot make somebody else of it, nor give them another end.
    const [key] = await fixture.redis.keys(`${fixture.namespace}:session:*`)
    const record = JSON.parse((await fixture.redis.get(key!))!)
    expect(record.proof).not.toContain(client.secret)
    for (const change of [
      { user: 'eve@example.com' },
      { groups: ['ops', 'more'] },
      { untilMs: 4e12 },
      { groups: 'ops' },
    ]) {
      await fixture.redis.set(key!, JSON.stringify({ ...record, ...change }), 'PX', 60_000)
      expect(await asked({})).toBe(401)
    }
  })

  it('needs no token, and no registry of such users makes one', async () => {
    const none = { viewToken: undefined, runToken: undefined, adminToken: undefined }
    const { registry } = await withProvider({ ...ann, groups: 'other' }, none)
    expect([registry.token, registry.code]).toEqual([undefined, undefined])
    expect(await jsonOf(await fetch(registry.at('api/login')))).toEqual({ token: false, provider: true })
    const cookie = (await goThrough(registry.at)).cookies[0]!
    expect((await sessionOf(registry, cookie))[1]).toMatchObject({ role: 'view' })
  })

  const returned = (change: (query: URLSearchParams) => void) => ({
    change: (url: URL) => {
      change(url.searchParams)
      return url
    },
  })
  it.each<[string, Parameters<typeof goThrough>[1], string]>([
    ['another state', returned(query => query.set('state', 'x'.repeat(43))), 'refused'],
    ['no state', returned(query => query.delete('state')), 'refused'],
    ['another code', returned(query => query.set('code', 'f00')), 'refused'],
    ['two codes', returned(query => query.append('code', 'f00')), 'refused'],
    [
      'nothing',
      returned(query => {
        query.delete('state')
        query.delete('code')
      }),
      'refused',
    ],
    ['the word of another provider', returned(query => query.set('iss', 'https://evil.example')), 'refused'],
    ['no cookie', { cookie: () => undefined }, 'begun'],
    ['a cookie of its own making', { cookie: own => own.replace(/.$/, last => (last === 'A' ? 'B' : 'A')) }, 'begun'],
    ['a cookie of somebody else', { cookie: own => own.replace(/=.*/, `=${forged()}`) }, 'begun'],
    ['one that is over', { cookie: own => own.replace(/=.*/, `=${over()}`) }, 'begun'],
  ])('that comes back with %s logs nobody in', async (_what, how, problem) => {
    const { registry } = await withProvider()
    const { end, to, cookies } = await goThrough(registry.at, how)
    expect([end?.status, to, cookies]).toEqual([303, `/login?problem=${problem}`, []])
  })

  const long = { state: 's', nonce: 'n', verifier: 'v'.repeat(43), back: '/' }
  const forged = () => new BegunCookie('another secret').write({ ...long, untilMs: Date.now() + 60_000 })
  const over = () => new BegunCookie('whatever').write({ ...long, untilMs: 1 })

  it.each<[string, Lies, string]>([
    ['with another nonce', { claims: { nonce: 'other' } }, 'refused'],
    ['without one', { claims: { nonce: undefined } }, 'refused'],
    ['that is over', { claims: { exp: 1_700_000_000 } }, 'refused'],
    ['of another issuer', { claims: { iss: 'https://evil.example' } }, 'refused'],
    ['for somebody else', { claims: { aud: 'another-client' } }, 'refused'],
    ['for several, of whom another asked', { claims: { aud: [client.id, 'b'], azp: 'b' } }, 'refused'],
    ['signed by somebody else', { otherKey: true }, 'refused'],
    ['without a signature', { unsigned: true }, 'refused'],
    ['that names nobody', { claims: { email: undefined } }, 'name'],
    ['whose address nobody verified', { claims: { email_verified: false } }, 'name'],
    ['whose address is said to be verified', { claims: { email_verified: 'true' } }, 'name'],
    ['of somebody without a role', { claims: { email: 'eve@evil.example', groups: ['opsx'] } }, 'role'],
    ['of no user at all', { denies: 'access_denied' }, 'denied'],
    ['never', { status: 500 }, 'refused'],
  ])('with a token %s logs nobody in', async (_what, lies, problem) => {
    const { registry, provider } = await withProvider()
    provider.state.lies = lies
    const { end, to, cookies } = await goThrough(registry.at)
    expect([end?.status, to, cookies]).toEqual([303, `/login?problem=${problem}`, []])
    expect(await end?.text()).toBe('')
    // It is the provider that was wrong, and the next log-in is another one.
    provider.state.lies = {}
    expect((await goThrough(registry.at)).to).toBe('/')
  })

  it('is not to be had while the provider is away, which is said, and is once it is back', async () => {
    const { registry, provider } = await withProvider()
    await provider.close()
    expect((await goThrough(registry.at)).to).toBe('/login?problem=away')
    const page = await fetch(registry.at('login?problem=away'))
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<html')])
  })

  it('is not to be had of one that answers nothing, and is not waited for without end', async () => {
    const sockets: Socket[] = []
    const silent = createServer(socket => void sockets.push(socket))
    await new Promise<void>(resolve => silent.listen(0, '127.0.0.1', resolve))
    fixture.onEnd(() => {
      for (const socket of sockets) socket.destroy()
      return new Promise<void>(resolve => silent.close(() => resolve()))
    })
    const { port } = silent.address() as { port: number }
    const { registry } = await withProvider(ann, { oidcIssuer: `http://127.0.0.1:${port}` })
    expect((await goThrough(registry.at)).to).toBe('/login?problem=away')
  })

  it.each([
    'https://evil.example/',
    '//evil.example/',
    '/\\evil.example/',
    '/%2F/evil.example',
    '/a\nb',
    'javascript:alert(1)',
    '/..//evil.example',
    'x',
  ])('never leads to %j', async back => {
    const { registry } = await withProvider()
    const { to } = await goThrough(registry.at, { back })
    expect(new URL(to, registry.url).origin).toBe(new URL(registry.url).origin)
    expect(to).toMatch(/^\/(?![/\\])/)
  })

  it('cannot be begun by another site, nor used twice', async () => {
    const { registry } = await withProvider()
    const headers = { 'sec-fetch-site': 'cross-site' }
    expect((await fetch(registry.at('login/provider'), { headers, redirect: 'manual' })).status).toBe(403)
    let kept = ''
    const { returned } = await goThrough(registry.at, { cookie: own => (kept = own) })
    const again = await fetch(returned!, { headers: { cookie: kept }, redirect: 'manual' })
    expect(again.headers.get('location')).toBe('/login?problem=refused')
  })

  it('that fails too often is refused for a while, without a word to the provider', async () => {
    const { registry, provider } = await withProvider()
    for (let n = 0; n < 10; n++)
      expect(
        (
          await goThrough(
            registry.at,
            returned(query => query.set('code', 'x')),
          )
        ).to,
      ).toMatch(/problem=refused$/)
    const before = provider.state.asked.filter(path => path === '/token').length
    expect((await goThrough(registry.at)).to).toBe('/login?problem=often')
    expect(provider.state.asked.filter(path => path === '/token').length).toBe(before)
  })
})

describe('settings of log-ins at a provider', () => {
  const all = { oidcIssuer: 'https://login.example', oidcClientId: 'a', oidcClientSecret: 'b'.repeat(20), access }
  it.each([
    [{ ...all, oidcClientSecret: undefined }, /needs all of oidcIssuer, oidcClientId and oidcClientSecret/],
    [{ ...all, access: undefined }, /need access, whose roles list/],
    [{ ...all, access: { tasks: [] } }, /need access, whose roles list/],
    [{ ...all, oidcScopes: ['email'] }, /must have 'openid'/],
    [{ ...all, oidcIssuer: 'http://login.example' }, /'oidcIssuer' must be the https address/],
    [
      { ...all, oidcClientSecret: 'short-secret' },
      /'oidcClientSecret' must have 16 to 512 characters, without spaces; .* makes one\.$/,
    ],
  ])('%#: that cannot work are refused', async (options, message) => {
    await expect(fixture.registry(options as never)).rejects.toThrow(message)
  })
})
