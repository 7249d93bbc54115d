import type { FastifyInstance } from 'fastify'
import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { addressOf, cookieOf, home, mountIn, raw, statusOf } from '../support/mounted-registry.ts'
import { bearer, json, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const mounted = mountIn(fixture)

describe('hosts', () => {
  it('that are not its own are refused, on every route', async () => {
    const { app, routes } = await mounted({ allowedHosts: ['hub.example', 'fd00::7'] })
    const own = [
      home,
      '127.0.0.1',
      'localhost',
      'LOCALHOST:1',
      '[::1]:7421',
      'hub.example',
      'hub.example:443',
      '[fd00::7]',
    ]
    const foreign = [
      'evil.example',
      'localhost.evil.example',
      'localhost.',
      '127.0.0.2',
      '2130706433',
      '[::]',
      'hub.example@evil.example',
      'localhost:port',
      ' ',
    ]
    for (const host of own)
      expect([host, (await statusOf(app, 'GET', '/hub/', { host })).statusCode]).toEqual([host, 200])
    for (const { method, url } of routes) {
      for (const host of url === '/hub' ? foreign : ['evil.example']) {
        const { statusCode } = await statusOf(app, method, addressOf({ method, url }), {
          ...bearer('admin'),
          ...json,
          host,
        })
        expect([method, url, host, statusCode]).toEqual([method, url, host, 421])
      }
    }
  })

  it('have to be named', async () => {
    const { url } = await fixture.registry()
    expect(await raw(url, 'GET / HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1.1 421 /)
    expect(await raw(url, 'GET / HTTP/1.1\r\nHost:\r\nConnection: close\r\n\r\n')).toMatch(/^HTTP\/1.1 421 /)
  })

  it('that a proxy names count when it is told to, and then both do', async () => {
    const behind = (await mounted({ behindProxy: ['127.0.0.1'], allowedHosts: ['hub.example'] })).app
    const direct = (await mounted({ allowedHosts: ['hub.example'] })).app
    const ask = async (app: FastifyInstance, host: string, forwarded: string) =>
      (await statusOf(app, 'GET', '/hub/', { host, 'x-forwarded-host': forwarded })).statusCode
    expect(await ask(behind, home, 'hub.example')).toBe(200)
    expect(await ask(behind, home, 'evil.example')).toBe(421)
    // What a page behind a rebound name could send.
    expect(await ask(behind, 'evil.example', 'hub.example')).toBe(421)
    expect(await ask(behind, home, 'evil.example, hub.example')).toBe(421)
    expect(await ask(direct, home, 'evil.example')).toBe(200)
  })
})

describe('requests of other sites', () => {
  it('run nothing, whatever they look like', async () => {
    let runs = 0
    await fixture.worker([defineTask('count:1.0', {}, () => ++runs)])
    const { app } = await mounted()
    const session = await cookieOf(app, 'admin')
    const looking = await cookieOf(app, 'view')
    const same = { 'sec-fetch-site': 'same-origin', origin: `http://${home}` }
    const refused: [Record<string, string>, number][] = [
      [{ ...json, ...session }, 403],
      [{ ...json, ...session, origin: 'null' }, 403],
      [{ ...json, ...session, origin: 'http://evil.example' }, 403],
      [{ ...json, ...session, origin: 'http://127.0.0.1:9999' }, 403],
      [{ ...json, ...session, 'sec-fetch-site': 'cross-site' }, 403],
      [{ ...json, ...session, 'sec-fetch-site': 'same-site', origin: `http://${home}` }, 403],
      [{ ...json, ...session, 'sec-fetch-site': 'none' }, 403],
      [{ ...json, ...session, ...same, origin: 'null' }, 403],
      [{ ...json, ...bearer('admin'), 'sec-fetch-site': 'cross-site' }, 403],
      [{ ...json, ...bearer('admin'), origin: 'https://evil.example' }, 403],
      [{ ...json, ...bearer('admin'), origin: 'null' }, 403],
      [{ ...same, ...session, 'content-type': 'text/plain' }, 415],
      [{ ...same, ...session, 'content-type': 'application/x-www-form-urlencoded' }, 415],
      [{ ...same, ...session, 'content-type': 'multipart/form-data; boundary=x' }, 415],
      [{ ...same, ...session, 'content-type': 'application/jsonx' }, 415],
      [{ ...same, ...session, 'content-type': 'text/plain; application/json' }, 415],
      [{ ...same, ...session }, 415],
      [{ ...json, ...same, ...looking }, 403],
      [{ ...json, ...same }, 401],
    ]
    for (const [headers, status] of refused) {
      const { statusCode } = await statusOf(app, 'POST', '/hub/api/call/count:1.0', headers)
      expect([headers, statusCode]).toEqual([headers, status])
    }
    expect(runs).toBe(0)
    for (const headers of [{ ...session, ...same }, { ...session, origin: `http://${home}` }, bearer('run')])
      expect((await statusOf(app, 'POST', '/hub/api/call/count:1.0', { ...json, ...headers })).statusCode).toBe(200)
    expect(runs).toBe(3)
  })

  it('are never told that they may read an answer', async () => {
    const { app } = await mounted()
    const origins = [
      'null',
      'http://evil.example',
      'http://localhost',
      `http://${home}`,
      'file://',
      `http://${home}.evil.example`,
      '*',
      'chrome-extension://abc',
      'http://user@127.0.0.1:7421',
    ]
    for (const origin of origins) {
      for (const [method, url] of [
        ['GET', '/hub/api/tasks'],
        ['OPTIONS', '/hub/api/call/x'],
        ['POST', '/hub/api/call/x'],
      ] as const) {
        const headers = { ...json, ...bearer('admin'), origin, 'access-control-request-method': 'POST' }
        const response = await statusOf(app, method, url, headers)
        expect(Object.keys(response.headers).filter(name => name.startsWith('access-control'))).toEqual([])
        if (origin !== `http://${home}`)
          expect([origin, method, response.statusCode < 400]).toEqual([origin, method, false])
      }
    }
  })
})
