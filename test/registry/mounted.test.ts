import cookie from '@fastify/cookie'
import rateLimit from '@fastify/rate-limit'
import fastify from 'fastify'
import { registry as plugin } from 'pshub-registry'
import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { tokens, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const echo = defineTask('echo:1.0', {}, (value: unknown) => value)
const options = () => ({
  hub: { redis: fixture.url, namespace: fixture.namespace, logLevel: 'silent' },
  runToken: tokens.run,
})
const headers = { authorization: `Bearer ${tokens.run}`, host: 'localhost' }

describe('in a server of its user', () => {
  it('leaves alone what was there: routes, parsers, errors, cookies, limits, headers', async () => {
    await fixture.worker([echo])
    const app = fastify({ forceCloseConnections: true })
    fixture.onEnd(() => app.close())
    await app.register(cookie, { secret: 'of the user' })
    await app.register(rateLimit, { max: 1000 })
    app.addContentTypeParser('application/json', { parseAs: 'string' }, (_request, _body, done) => done(null, 'my own'))
    app.addContentTypeParser('text/csv', { parseAs: 'string' }, (_request, body, done) => done(null, body))
    app.setErrorHandler((_error, _request, reply) => reply.code(418).send('my error'))
    app.setNotFoundHandler((_request, reply) => reply.code(404).send('my nothing'))
    app.addHook('onRequest', async (_request, reply) => void reply.header('access-control-allow-origin', '*'))
    app.post('/mine', async (request, reply) => reply.setCookie('seen', 'yes').send({ got: request.body }))
    app.get('/broken', async () => {
      throw new Error('broken')
    })
    await app.register(plugin, { prefix: '/admin/tasks', ...options() })
    await app.register(plugin, { prefix: '/second', ...options(), readOnly: true })

    const mine = await app.inject({
      method: 'POST',
      url: '/mine',
      headers: { 'content-type': 'text/csv', host: 'any.example' },
      payload: 'a,b',
    })
    expect([mine.statusCode, mine.json()]).toEqual([200, { got: 'a,b' }])
    expect(mine.headers).toMatchObject({
      'access-control-allow-origin': '*',
      'set-cookie': expect.stringContaining('seen=yes'),
    })
    expect(mine.headers['content-security-policy']).toBeUndefined()
    expect((await app.inject('/broken')).body).toBe('my error')
    expect((await app.inject('/nowhere')).body).toBe('my nothing')

    const ask = (url: string) => app.inject({ url, headers })
    expect((await ask('/admin/tasks/api/session')).json()).toMatchObject({ role: 'run', readOnly: false })
    expect((await ask('/second/api/session')).json()).toMatchObject({ role: 'run', readOnly: true })
    expect((await ask('/admin/tasks/api/session')).headers['access-control-allow-origin']).toBeUndefined()
    expect((await ask('/admin/tasks/api/nothing')).json().code).toBe('NotFound')
    expect((await ask('/admin/tasks')).body).toContain('/admin/tasks/assets/')
    const call = (prefix: string, type: string) =>
      app.inject({
        method: 'POST',
        url: `${prefix}/api/call/echo:1.0`,
        headers: { ...headers, 'content-type': type },
        payload: '"x"',
      })
    expect((await call('/admin/tasks', 'application/json')).body).toBe('"x"')
    expect((await call('/admin/tasks', 'text/csv')).statusCode).toBe(415)
    expect((await call('/second', 'application/json')).statusCode).toBe(403)
  })
})
