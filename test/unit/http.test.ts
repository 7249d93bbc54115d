import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { callOptionsOf, problemOf, problemResponse, sendProblem, sharedHub, timeoutOf } from '../../src/http/index.ts'
import { errorTable, fromWire, HubError, isErrorCode, type WireError } from '../../src/wire/errors.ts'
import { read } from '../support/protocol-document.ts'

const { cases, timeouts } = JSON.parse(read('clients/vectors/problems.json')) as {
  cases: { error: WireError; retryAfter: string | null; body: Record<string, unknown> }[]
  timeouts: [header: string, timeoutMs: number | null][]
}

describe('the answer to a visitor', () => {
  it.each(cases)('$error.code: $error.message', ({ error, retryAfter, body }) => {
    const problem = problemOf(fromWire(error, { task: 'a:1.0', id: 'x' }))!
    expect(problem.status).toBe(body.status)
    expect(problem.headers).toEqual({
      'content-type': 'application/problem+json',
      ...(retryAfter === null ? {} : { 'retry-after': retryAfter }),
    })
    expect(JSON.parse(JSON.stringify(problem.body))).toEqual(body)
  })

  it('says of each code what it means, and of most no more', () => {
    const told = Object.keys(errorTable)
      .filter(isErrorCode)
      .filter(code => {
        const { body } = problemOf(new HubError(code, 'what happened this time', { data: 1 }))!
        expect(body).toMatchObject({ title: errorTable[code].meaning, status: errorTable[code].status, code })
        expect('data' in body).toBe('detail' in body)
        return 'detail' in body
      })
    expect(told).toEqual(['Overloaded', 'InvalidArgs', 'PayloadTooLarge', 'NoSuchJob'])
  })

  it('is a web response, and what is no error of a call is thrown on', async () => {
    const response = problemResponse(new HubError('NoWorkers'))
    expect([
      response.status,
      response.headers.get('retry-after'),
      ((await response.json()) as { code: string }).code,
    ]).toEqual([503, '1', 'NoWorkers'])
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    const mistake = new TypeError('x is undefined')
    expect(problemOf(mistake)).toBeUndefined()
    expect(() => problemResponse(mistake)).toThrow(mistake)
  })

  it('is that of another copy of pshub as well, and of none that only has the name', async () => {
    vi.resetModules()
    const other = await import('../../src/wire/errors.ts')
    expect(other.HubError).not.toBe(HubError)
    const answer = (error: unknown) => problemOf(error)?.body
    const overloaded = { data: { waitMs: 2000 } }
    expect(answer(new other.HubError('Overloaded', 'full', overloaded))).toEqual(
      answer(new HubError('Overloaded', 'full', overloaded)),
    )
    const newer = Object.assign(new other.HubError('NoWorkers', 'a host'), { code: 'Moved', kind: 'Moved' })
    expect(answer(newer)).toMatchObject({ title: 'Moved', code: 'Moved', status: 503 })
    expect(answer(newer)).not.toHaveProperty('detail')
    expect(problemOf(Object.assign(new Error('x'), { name: 'HubError', code: 'NoWorkers' }))).toBeUndefined()
    expect(problemOf({ ...new HubError('NoWorkers') })).toBeUndefined()
  })

  it.each([
    ['a circle', () => circle],
    ['a BigInt', () => 1n],
    ['a function', () => () => 1],
    ['something that throws', () => ({ toJSON: () => JSON.parse('') })],
  ])('goes without data that is no JSON: %s', async (_, data) => {
    const error = new HubError('InvalidArgs', 'x', { data: data() })
    const response = problemResponse(error)
    for (const body of [(await response.json()) as object, problemOf(error, { detailed: true })!.body]) {
      expect(body).toMatchObject({ code: 'InvalidArgs', detail: 'x' })
      expect(body).not.toHaveProperty('data')
    }
  })

  it.each([9999, 200, 404.5])('has no status that there is not: %d', async status => {
    const response = problemResponse(new HubError('Mine', 'x', { status }))
    expect([response.status, ((await response.json()) as { status: number }).status]).toEqual([500, 500])
  })
})

const circle: unknown[] = []
circle.push(circle)

describe('how long a request waits', () => {
  it.each(timeouts)('the header %j', (header, timeoutMs) => {
    for (const headers of [{ 'pshub-timeout-ms': header }, { get: () => header }]) {
      if (timeoutMs !== null) expect(timeoutOf({ headers })).toBe(timeoutMs)
      else expect(() => timeoutOf({ headers })).toThrow(expect.objectContaining({ code: 'InvalidArgs', status: 400 }))
    }
  })

  it('is the least that somebody says', () => {
    const headers = { 'pshub-timeout-ms': '500' }
    expect(callOptionsOf({ headers })).toEqual({ timeoutMs: 500 })
    expect(callOptionsOf({ headers }, { timeoutMs: 200 })).toEqual({ timeoutMs: 200 })
    expect(callOptionsOf({ headers }, { timeoutMs: 2000 })).toEqual({ timeoutMs: 500 })
    expect(callOptionsOf({ headers: {} }, { timeoutMs: 2000 })).toEqual({ timeoutMs: 2000 })
    expect(callOptionsOf(new Request('http://a/'))).toEqual({ signal: expect.any(AbortSignal) })
  })

  it('refuses options that there are not', () => {
    const wrong = (options: object) => () => callOptionsOf({ headers: {} }, options)
    expect(wrong({ timeout: 5 })).toThrow(/callOptionsOf: there is no option 'timeout'; did you mean 'timeoutMs'/)
    expect(wrong({ timeoutMs: '5' })).toThrow(/callOptionsOf: timeoutMs must be a number/)
  })
})

describe('a response of node:http', () => {
  const servers: ReturnType<typeof createServer>[] = []
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    }
  })
  const serve = async (handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> => {
    const server = createServer(handler).listen(0, '127.0.0.1')
    servers.push(server)
    await once(server, 'listening')
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  }

  it('is sent once, and not for what is no error of a call', async () => {
    const sent: boolean[] = []
    const url = await serve((_request, response) => {
      sent.push(sendProblem(response, new TypeError('x')))
      sent.push(sendProblem(response, new HubError('Overloaded', 'full', { data: { waitMs: 1001 } })))
      sent.push(sendProblem(response, new HubError('Timeout')))
    })
    const answer = await fetch(url)
    expect(sent).toEqual([false, true, false])
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '2'])
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(await answer.json()).toMatchObject({ code: 'Overloaded', detail: 'full' })
  })

  it('is sent whole, whatever was said of the answer that it is in the place of', async () => {
    const url = await serve((_request, response) => {
      response.setHeader('content-length', 3)
      response.setHeader('content-encoding', 'gzip')
      response.setHeader('etag', '"1"')
      response.setHeader('content-security-policy', "default-src 'self'")
      sendProblem(response, new HubError('InvalidArgs', 'ü', { data: { circle } }))
    })
    const answer = await fetch(url)
    expect(await answer.json()).toMatchObject({ code: 'InvalidArgs', detail: 'ü' })
    const { headers } = answer
    expect([headers.has('content-encoding'), headers.has('etag')]).toEqual([false, false])
    expect(headers.get('content-security-policy')).toBe("default-src 'self'")
  })

  it('has one listener for all calls of its request, and none of the request before', async () => {
    const listeners: number[] = []
    const signals: (AbortSignal | undefined)[] = []
    const url = await serve((request, response) => {
      const before = response.listenerCount('close')
      for (let call = 0; call < 12; call++) signals.push(callOptionsOf(request, { response }).signal)
      listeners.push(response.listenerCount('close') - before, request.socket.listenerCount('close'))
      response.end()
    })
    for (let request = 0; request < 3; request++) await (await fetch(url)).text()
    const [, onSocket] = listeners
    expect(listeners).toEqual([1, onSocket, 1, onSocket, 1, onSocket])
    expect(new Set(signals).size).toBe(3)
    expect(signals.some(signal => signal!.aborted)).toBe(false)
  })

  it('tells that the visitor has gone, and not that it was sent', async () => {
    const signals: AbortSignal[] = []
    const closed: Promise<unknown>[] = []
    const url = await serve((request, response) => {
      closed.push(once(response, 'close'))
      signals.push(callOptionsOf(request, { response }).signal!)
      if (request.url === '/sent') response.end()
    })
    await fetch(`${url}sent`)
    const visitor = new AbortController()
    const left = fetch(url, { signal: visitor.signal })
    await expect.poll(() => signals.length).toBe(2)
    visitor.abort()
    await expect(left).rejects.toThrow()
    await Promise.all(closed)
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, true])
  })

  it('tells that the visitor had gone before', async () => {
    const late: AbortSignal[] = []
    const url = await serve((request, response) => {
      response.once('close', () => late.push(callOptionsOf(request, { response }).signal!))
      response.destroy()
    })
    await expect(fetch(url)).rejects.toThrow()
    await expect.poll(() => late.length).toBe(1)
    expect(late[0]!.aborted).toBe(true)
  })
})

it('a process has one hub, and another one behind its end', async () => {
  const options = { redis: 'redis://127.0.0.1:1', logLevel: 'silent' } as const
  const hub = sharedHub(options)
  expect(sharedHub()).toBe(hub)
  await hub.close()
  const next = sharedHub(options)
  expect(next).not.toBe(hub)
  await next.close()
})
