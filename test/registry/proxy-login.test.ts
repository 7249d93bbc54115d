import { describe, expect, it } from 'vitest'
import { home, mountIn, raw } from '../support/mounted-registry.ts'
import { bearer, json, jsonOf, useRegistry } from '../support/registry-fixture.ts'

/** Log-ins by the header of a proxy: believed of the proxies that are named, and of nobody else. */
const fixture = useRegistry()
const mounted = mountIn(fixture)
const settings = {
  ...{ userHeader: 'X-Forwarded-User', groupsHeader: 'X-Forwarded-Groups', behindProxy: ['10.0.0.0/8', '127.0.0.1'] },
  access: { roles: { admin: ['group:ops', 'group:größe'], run: ['group:dev'], view: ['user:*@example.com'] } },
}
const ann = { 'x-forwarded-user': 'ann@example.com' }

const asked = async (options: object = {}) => {
  const { app } = await mounted({ ...settings, ...options })
  return async (headers: Record<string, string>, remoteAddress = '10.1.2.3', method: 'GET' | 'POST' = 'GET') => {
    const url = method === 'GET' ? '/hub/api/session' : '/hub/api/queues/q/pause'
    const payload = method === 'GET' ? {} : { payload: '{}' }
    const response = await app.inject({ method, url, remoteAddress, headers: { host: home, ...headers }, ...payload })
    const { role, user, by, code } = response.json()
    return code ? [response.statusCode, code] : [response.statusCode, role, user, by]
  }
}

describe('a proxy that says who asks', () => {
  it('is believed: users and groups have the highest of their roles', async () => {
    const ask = await asked()
    expect(await ask(ann)).toEqual([200, 'view', 'ann@example.com', 'proxy'])
    expect(await ask({ ...ann, 'x-forwarded-groups': 'a, dev,b' })).toEqual([200, 'run', 'ann@example.com', 'proxy'])
    expect(await ask({ ...ann, 'X-Forwarded-Groups': 'dev,ops' })).toEqual([200, 'admin', 'ann@example.com', 'proxy'])
    const bytes = Buffer.from('größe').toString('latin1')
    expect((await ask({ 'x-forwarded-user': 'bob', 'x-forwarded-groups': bytes }))[1]).toBe('admin')
    // Some proxies send an authorization of their own with it.
    expect((await ask({ ...ann, authorization: 'Basic YW5uOg==' }))[1]).toBe('view')
  })

  it('says it of somebody without a role, who is told so', async () => {
    const ask = await asked()
    for (const user of ['eve@evil.example', 'ann@example.com.evil.example', 'bob'])
      expect(await ask({ 'x-forwarded-user': user, 'x-forwarded-groups': 'opsx,xops,OPS' })).toEqual([403, 'Forbidden'])
  })

  it('is one that is named, whatever is said of the way before it', async () => {
    const ask = await asked()
    const ways = [{}, { 'x-forwarded-for': '10.1.2.3' }, { 'x-forwarded-for': '127.0.0.1, 10.1.2.3' }, bearer('admin')]
    for (const more of ways)
      for (const address of ['192.168.0.9', '11.0.0.1', '::1'])
        expect(await ask({ ...ann, ...more }, address)).toEqual([403, 'Forbidden'])
    expect(await ask({ 'x-forwarded-groups': 'ops', ...bearer('view') }, '192.168.0.9')).toEqual([403, 'Forbidden'])
    // Behind it, too, it is the peer that says it.
    expect((await ask({ ...ann, 'x-forwarded-for': '192.168.0.9' }))[0]).toBe(200)
    expect((await ask({ ...ann }, '::ffff:10.1.2.3'))[0]).toBe(200)
  })

  it('says nobody, or nothing that could be a name', async () => {
    const ask = await asked()
    for (const user of ['', ' ', 'a'.repeat(257), 'a\tb', '\u00ff\u00fe'])
      expect([user, ...(await ask({ 'x-forwarded-user': user }))]).toEqual([user, 401, 'Unauthorized'])
    expect(await ask({ ...ann, 'x-forwarded-groups': '\u00ff' })).toEqual([401, 'Unauthorized'])
    // Without a word of a user there are tokens.
    expect(await ask({})).toEqual([401, 'Unauthorized'])
    expect(await ask(bearer('run'))).toEqual([200, 'run', undefined, undefined])
    expect(await ask({ 'x-forwarded-groups': 'ops', ...bearer('view') })).toEqual([200, 'view', undefined, undefined])
  })

  it('says it twice, which somebody else may have done', async () => {
    const registry = await fixture.registry(settings)
    const get = (...headers: string[]) =>
      raw(
        registry.url,
        ['GET /api/session HTTP/1.1', 'Host: localhost', 'Connection: close', ...headers, '', ''].join('\r\n'),
      )
    const once = 'X-Forwarded-User: eve@example.com'
    expect(await get(once)).toMatch(/^HTTP\/1.1 200 /)
    for (const twice of [
      [once, once],
      [once, 'x-forwarded-user: '],
      [once, 'x-forwarded-USER: ann@example.com'],
    ])
      expect(await get(...twice)).toMatch(/^HTTP\/1.1 401 /)
    expect(await get(once, 'X-Forwarded-Groups: a', 'x-forwarded-groups: ops')).toMatch(/^HTTP\/1.1 401 /)
    // Joined by another hop before it, they are one name, which nobody has.
    expect(await get('X-Forwarded-User: eve, ann@evil.example')).toMatch(/^HTTP\/1.1 403 /)
    // What is written otherwise is another header.
    expect(await get('X_Forwarded_User: ann@example.com')).toMatch(/^HTTP\/1.1 401 /)
  })

  it('knows them by a cookie, so that pages of others change nothing in their name', async () => {
    const ask = await asked()
    const ops = { ...ann, 'x-forwarded-groups': 'ops', ...json }
    const post = async (more: Record<string, string>) => (await ask({ ...ops, ...more }, '10.1.2.3', 'POST'))[0]
    for (const more of [{}, { 'sec-fetch-site': 'cross-site' }, { origin: 'http://evil.example' }, { origin: 'null' }])
      expect(await post(more)).toBe(403)
    expect(await post({ 'sec-fetch-site': 'same-origin', origin: `http://${home}` })).toBe(200)
    await fixture.hub().resume('q')
  })

  it('needs its address, and roles', async () => {
    const refused = async (options: object, message: RegExp) =>
      expect(fixture.registry({ ...settings, ...options } as never)).rejects.toThrow(message)
    await refused({ behindProxy: [] }, /userHeader needs behindProxy/)
    await refused({ userHeader: undefined }, /groupsHeader needs userHeader/)
    await refused({ access: undefined }, /need access, whose roles list/)
    await refused({ userHeader: 'X User' }, /must be the name of a header/)
    const alone = { viewToken: undefined, runToken: undefined, adminToken: undefined }
    const registry = await fixture.registry({ ...settings, ...alone })
    expect([registry.token, await jsonOf(await fetch(registry.at('api/login')))]).toEqual([
      undefined,
      { token: false, provider: false },
    ])
  })
})
