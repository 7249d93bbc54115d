import { request as httpRequest } from 'node:http'
import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { mountIn, raw, statusOf } from '../support/mounted-registry.ts'
import { bearer, json, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const mounted = mountIn(fixture)
const echo = defineTask('echo:1.0', {}, (value: unknown) => value)

describe('headers', () => {
  it('are on every answer, refusals and faults included', async () => {
    await fixture.worker([echo])
    const registry = await fixture.registry({ basePath: '/hub' })
    const ask = (path: string, init: RequestInit = {}) => fetch(new URL(path, registry.url), init)
    const page = await (await ask('/hub/')).text()
    const asset = /\/hub\/assets\/[\w.-]+\.js/.exec(page)![0]
    const auth = { headers: bearer('admin') }
    const post = (headers: object, body = '{}') => ({ method: 'POST', headers: { ...json, ...headers }, body })
    const answers = {
      200: [ask('/hub/'), ask(asset), ask('/hub/healthz'), ask('/hub/metrics', auth), ask('/hub/api/tasks', auth)],
      304: [ask(asset, { headers: { 'if-none-match': (await ask(asset)).headers.get('etag')! } })],
      400: [
        ask('/hub/%zz'),
        ask('/hub/api/call/echo:1.0', post(bearer('run'), '{')),
        ask('/hub/api/history?range=x', auth),
      ],
      401: [ask('/hub/api/tasks'), ask('/hub/api/call/x', post({})), ask('/hub/openapi.json')],
      403: [ask('/hub/api/call/x', post(bearer('view'))), ask('/hub/api/tasks', { headers: { origin: 'null' } })],
      404: [
        ask('/'),
        ask('/hub/x'),
        ask('/hub/api/x'),
        ask('/hub/assets/x'),
        ask('/hub/api/tasks', { method: 'DELETE' }),
      ],
      413: [ask('/hub/api/call/echo:1.0', post(bearer('run'), `"${'x'.repeat(300_000)}"`))],
      415: [ask('/hub/api/call/x', { method: 'POST', headers: bearer('run'), body: 'x' })],
    }
    for (const [status, asked] of Object.entries(answers)) {
      for (const response of await Promise.all(asked)) {
        expect([response.url, response.status]).toEqual([response.url, Number(status)])
        checkHeaders(Object.fromEntries(response.headers), response.url)
        const text = await response.text()
        expect(text, response.url).not.toMatch(/\n\s+at |node_modules/)
        if (response.url.includes('/assets/') && response.ok) continue
        if (status !== '304') expect(response.headers.get('cache-control'), response.url).toBe('no-store')
      }
    }
    const garbled = await raw(registry.url, 'BROKEN\r\n\r\n')
    expect(garbled).toMatch(/^HTTP\/1.1 400 /)
    expect(garbled).toContain("content-security-policy: default-src 'none'")
  })

  it('say what the pages may load', async () => {
    const { app } = await mounted()
    const policy = String((await statusOf(app, 'GET', '/hub/', {})).headers['content-security-policy'])
    expect(policy.split('; ').sort()).toEqual(
      [
        "default-src 'none'",
        "script-src 'self'",
        "worker-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        'trusted-types pshub',
      ].sort(),
    )
  })
})

const checkHeaders = (headers: Record<string, unknown>, what: string) => {
  expect(headers, what).toMatchObject({
    'content-security-policy': expect.stringContaining("default-src 'none'; script-src 'self'"),
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': expect.any(String),
  })
}

describe('files of the pages', () => {
  it('are the ones that were built, by their exact names', async () => {
    const registry = await fixture.registry()
    const names = [
      '../index.html',
      '..%2findex.html',
      '..%5cindex.html',
      '/etc/passwd',
      '%252e%252e%252fpackage.json',
      '..%c0%af..%c0%afpackage.json',
      '%00',
      '..',
      '',
      'file:///etc/passwd',
      'constructor',
      '__proto__',
      '..\\..\\package.json',
    ]
    for (const name of names) {
      const status = await exactly(`${registry.url}assets/`, name)
      expect([name, [400, 404].includes(status)], String(status)).toEqual([name, true])
    }
  })
})

/** Sends the path as it is written, which fetch would tidy up. */
const exactly = (base: string, name: string): Promise<number> =>
  new Promise((resolve, reject) => {
    const { hostname, port, pathname } = new URL(base)
    httpRequest({ hostname, port, path: pathname + name }, response => {
      response.resume()
      resolve(response.statusCode!)
    })
      .on('error', reject)
      .end()
  })

describe('the query', () => {
  it('may hold anything and gets an answer at once', async () => {
    const registry = await fixture.registry()
    const junk = ['0', '-1', '1e9', 'NaN', '1e400', '', 'x'.repeat(5000), '%00', '[]', '__proto__']
    for (const value of junk) {
      for (const name of ['range', 'task', 'queue', 'topics', 'limit', 'page', '__proto__', 'range[]']) {
        for (const path of ['api/history', 'api/tasks', 'api/slow', 'api/overview']) {
          const response = await registry.get(`${path}?${name}=${value}`)
          expect([200, 400], `${path}?${name}=${value}`).toContain(response.status)
          await response.arrayBuffer()
        }
      }
    }
    expect((await registry.get('api/history?range=15m&range=1d')).status).toBe(400)
    expect((await registry.get('api/history?task=a&task=b')).status).toBe(400)
    expect((await registry.get('api/history?range=1d&queue=q')).status).toBe(200)
  })
})
