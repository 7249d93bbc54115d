import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type HandlerOptions, type RegistryHandler, registryHandler } from 'pshub-registry'
import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { bearer, json, tokens, useRegistry } from '../support/registry-fixture.ts'

const fixture = useRegistry()
const echo = defineTask('echo:1.0', {}, (value: unknown) => value)

const handlerOf = async (options: HandlerOptions): Promise<RegistryHandler> => {
  const handler = await registryHandler({
    hub: { redis: fixture.url, namespace: fixture.namespace, logLevel: 'silent' },
    runToken: tokens.run,
    logLevel: 'silent',
    ...options,
  })
  fixture.onEnd(() => handler.close())
  return handler
}

const serve = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  fixture.onEnd(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** As `app.use(path, handler)` of Express: what is below is given without the path, which stays in `originalUrl`. */
const mounted =
  (path: string, handler: RegistryHandler): RequestListener =>
  (request: IncomingMessage & { originalUrl?: string }, response) => {
    const { url = '/' } = request
    if (!new RegExp(`^${path}([/?]|$)`).test(url)) return void response.writeHead(418).end('mine')
    request.originalUrl = url
    request.url = `/${url.slice(path.length).replace(/^\//, '')}`
    handler(request, response)
  }

const call = (base: string) =>
  fetch(`${base}/api/call/echo:1.0`, { method: 'POST', headers: { ...json, ...bearer('run') }, body: '{"n":1}' })

describe('a handler for a server of its user', () => {
  it('is the whole listener of node:http', async () => {
    await fixture.worker([echo])
    const base = await serve(await handlerOf({ environment: 'staging' }))
    expect(await (await call(base)).json()).toEqual({ n: 1 })
    const session = await fetch(`${base}/api/session`, { headers: bearer('run') })
    expect(await session.json()).toMatchObject({ role: 'run', environment: { name: 'staging', colour: 'blue' } })
    const page = await fetch(`${base}/tasks`)
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")
    expect(await page.text()).toContain('"/assets/')
    expect((await fetch(`${base}/api/session`)).status).toBe(401)
    const nowhere = await fetch(`${base}/api/nothing`)
    expect([nowhere.status, await nowhere.json()]).toMatchObject([404, { code: 'NotFound' }])
  })

  it.each([
    ['takes the path off and keeps the whole address, as Express', mounted],
    ['leaves addresses whole', (_path: string, handler: RegistryHandler): RequestListener => handler],
    [
      'takes the path off and keeps nothing',
      (path: string, handler: RegistryHandler): RequestListener =>
        (request, response) => {
          request.url = request.url!.slice(path.length) || '/'
          handler(request, response)
        },
    ],
  ])('below a path, where the server %s', async (_, mount) => {
    await fixture.worker([echo])
    const base = `${await serve(mount('/tools/pshub', await handlerOf({ basePath: '/tools/pshub' })))}/tools/pshub`
    expect(await (await call(base)).json()).toEqual({ n: 1 })
    const html = await (await fetch(`${base}/tasks/echo:1.0`)).text()
    const [, script] = /src="(\/tools\/pshub\/assets\/[^"]+\.js)"/.exec(html)!
    expect((await fetch(new URL(script!, base))).headers.get('content-type')).toContain('javascript')
    expect((await fetch(base)).status).toBe(200)
    const login = await fetch(`${base}/api/login`, {
      method: 'POST',
      headers: json,
      body: JSON.stringify({ token: tokens.run }),
    })
    expect(login.headers.get('set-cookie')).toContain('Path=/tools/pshub;')
  })

  it('ends its live pages when it is closed, so that the server can be', async () => {
    const handler = await handlerOf({})
    const base = await serve(handler)
    const live = await fetch(`${base}/api/live?topics=summary`, { headers: bearer('run') })
    const reader = live.body!.getReader()
    expect(new TextDecoder().decode((await reader.read()).value)).toContain('event: reading')
    await handler.close()
    for (let part = await reader.read(); !part.done; part = await reader.read());
  })

  it('says so where the body was read before', async () => {
    const handler = await handlerOf({})
    const base = await serve((request, response) => {
      request.resume().once('end', () => handler(request, response))
    })
    const answer = await call(base)
    expect([answer.status, await answer.json()]).toMatchObject([
      500,
      { code: 'Internal', detail: expect.stringContaining('mount the registry before') },
    ])
  })

  it('needs a token, and options that there are', async () => {
    await expect(registryHandler({ basePath: '/x', logLevel: 'silent' })).rejects.toThrow(/needs a token/)
    await expect(registryHandler({ runToken: tokens.run, path: '/x' } as never)).rejects.toThrow(/no option 'path'/)
    await expect(registryHandler({ runToken: tokens.run, basePath: 'x' })).rejects.toThrow(/must be a path like/)
  })
})
