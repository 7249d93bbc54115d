import { createHmac } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import { describe, expect, it } from 'vitest'
import { type ForwardOutcome, type WebhookOptions, webhook } from '../../src/index.ts'
import { startForwarder } from '../support/forwarding.ts'
import { startHookServer } from '../support/hook-server.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const fixture = useRedis()
const forward = 'billing'
/** The example of the specification: https://github.com/standard-webhooks/standard-webhooks */
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const newer = `whsec_${Buffer.from('n'.repeat(32)).toString('base64')}`

const serve = async (answer?: Parameters<typeof startHookServer>[0]) => {
  const server = await startHookServer(answer)
  fixture.onEnd(() => server.close())
  return server
}

const job = { id: 'j'.repeat(22), task: 'paid', args: { n: 1 }, attempt: 1 }
/** What a target says of one job. */
const send = async (options: WebhookOptions, given = job) =>
  (await webhook(options).forward([given], new AbortController().signal)) as ForwardOutcome & { failed: unknown[] }

describe('a webhook', () => {
  it('is a signed POST for each job', async () => {
    const server = await serve()
    const headers = { authorization: 'Bearer x', 'Content-Type': 'application/vnd.shop+json' }
    await startForwarder(fixture, { target: webhook({ url: server.url, secret: [newer, secret], headers }) })
    const hub = fixture.hub({ name: 'shop' })
    const { id } = await hub.enqueue('paid', { order: 'ä' }, { forward, key: 'k' })
    await eventually(() => server.deliveries.length === 1)
    const [{ path, headers: sent, body }] = server.deliveries as [(typeof server.deliveries)[0]]
    expect(path).toBe('/hooks')
    expect(JSON.parse(body)).toEqual({ id, task: 'paid', args: { order: 'ä' }, key: 'k', from: 'shop', attempt: 1 })
    expect(sent).toMatchObject({ authorization: 'Bearer x', 'content-type': 'application/vnd.shop+json' })
    expect(sent['user-agent']).toMatch(/^pshub\//)
    expect(sent['webhook-id']).toBe(id)
    const timestamp = sent['webhook-timestamp'] as string
    // As a receiver reckons it, who knows either secret.
    const expected = [newer, secret].map(each =>
      createHmac('sha256', Buffer.from(each.slice('whsec_'.length), 'base64'))
        .update(`${id}.${timestamp}.${body}`)
        .digest('base64'),
    )
    expect(sent['webhook-signature']).toBe(expected.map(each => `v1,${each}`).join(' '))
  })

  it('is signed as the specification has it', async () => {
    const { signatureOf, signingKeys } = await import('../../src/forward/targets/signature.ts')
    const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek'
    expect(signatureOf(signingKeys(secret), id, 1614265330, '{"test": 2432232314}')).toBe(
      'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    )
  })

  it('is not taken by a status of 408, 425, 429 and 500 on, and refused for good by all others', async () => {
    const statuses = [200, 204, 299, 301, 400, 404, 410, 408, 425, 429, 500, 503]
    let status = 0
    const server = await serve((_, response) => {
      response.writeHead(status, { location: '/elsewhere', 'retry-after': '7' })
      response.end(status === 204 ? '' : `it is\n${status}`)
    })
    const outcomes = []
    for (status of statuses) outcomes.push([status, await send({ url: server.url })] as const)
    const ways = outcomes.map(([code, { failed, taken }]) => {
      const [known] = failed as { isFinal: boolean; retryAfterMs: number; reason: string; status?: number }[]
      expect([...taken].length + failed.length).toBe(1)
      if (known) expect(known).toMatchObject({ id: job.id, reason: `HTTP ${code}: it is ${code}` })
      if (known) expect(known.retryAfterMs).toBe(known.isFinal ? 0 : 7000)
      if (known) expect(known.status).toBe(code >= 400 ? code : undefined)
      return known ? (known.isFinal ? 'refused' : 'again') : 'taken'
    })
    const counted = (way: string) => ways.filter(each => each === way).length
    expect(ways.join(' ')).toBe('taken taken taken refused refused refused refused again again again again again')
    expect(counted('taken')).toBe(3)
    // A redirect was not followed.
    expect(server.deliveries.map(({ path }) => path)).toEqual(statuses.map(() => '/hooks'))
  })

  it('that is slow, cut off or away is tried again, and one that was refused is dead', async () => {
    const server = await serve((_, response, at) => {
      if (at === 0) return
      if (at === 1) response.destroy()
      else response.writeHead(at === 2 ? 500 : 400).end('no "paid" here')
    })
    await startForwarder(fixture, { target: webhook({ url: server.url }), timeoutMs: 150, backoff: 1 })
    const hub = fixture.hub()
    const { id } = await hub.enqueue('paid', {}, { forward })
    const dead = hub.dead(`forward.${forward}`)
    await eventually(async () => (await dead.count()) === 1)
    const [given] = await dead.list()
    expect(given!.id).toBe(id)
    expect(given!.errors.map(({ code, status }) => [code, status])).toEqual([
      ['NotTaken', undefined],
      ['NotTaken', undefined],
      ['NotTaken', 500],
      ['Refused', 400],
    ])
    expect(given!.errors[0]!.message).toBe('the target did not confirm it within 150 ms')
    expect(given!.errors[3]!.message).toBe('HTTP 400: no "paid" here')
    await dead.delete()
    await server.close()
    expect((await send({ url: server.url })).failed).toMatchObject([
      { reason: expect.stringMatching(/ECONNREFUSED|other side closed/) },
    ])
  })

  it('is taken or not by its status, however the answer goes on behind that', async () => {
    const ends: Record<string, (response: ServerResponse) => void> = {
      cut: response => response.destroy(),
      hanging: () => undefined,
      trickling: response => void setInterval(() => response.write('.'), 20).unref(),
      endless: response => {
        const more = () => !response.destroyed && response.write('.'.repeat(65_536), more)
        more()
      },
    }
    const server = await serve(({ path }, response) => {
      const [, status, how] = path.slice('/hooks?'.length).split('-') as [string, string, string]
      response.writeHead(Number(status), { 'retry-after': '7' })
      response.write('so far', () => ends[how]!(response))
    })
    const outcomes = await Promise.all(
      ['200', '400', '429'].flatMap(status =>
        Object.keys(ends).map(how => send({ url: `${server.url}?x-${status}-${how}` })),
      ),
    )
    for (const [at, { taken, failed }] of outcomes.entries()) {
      if (at < 4) expect([taken, failed]).toEqual([[job.id], []])
      else if (at < 8) expect(failed).toMatchObject([{ isFinal: true, status: 400 }])
      else expect(failed).toMatchObject([{ isFinal: false, status: 429, retryAfterMs: 7000 }])
      if (at >= 4) expect((failed[0] as { reason: string }).reason).toMatch(/^HTTP 4..: so far/)
    }
  })

  it('of a slow side keeps no other one waiting', async () => {
    const held: (() => void)[] = []
    const server = await serve(({ body }, response) => {
      if (JSON.parse(body).task === 'slow') held.push(() => response.end())
      else response.end()
    })
    await startForwarder(fixture, { target: webhook({ url: server.url }), slots: 4 })
    const hub = fixture.hub()
    await hub.enqueueMany([['slow'], ['slow']], { forward })
    await hub.enqueueMany(
      Array.from({ length: 20 }, () => ['quick'] as const),
      { forward },
    )
    await eventually(() => server.deliveries.length === 22)
    for (const end of held) end()
  })

  it.each<[object, string]>([
    [{ url: 'ftp://example.com' }, "'url' must begin with http:// or https://"],
    [{ url: 'https://user:pass@example.com' }, 'must hold no user and no password'],
    [{ url: 'https://example.com', secret: 'whsec_c2hvcnQ=' }, '24 to 64 bytes as base64'],
    [{ url: 'https://example.com', secret: [] }, 'a list of secrets must not be empty'],
    [{ url: 'https://example.com', format: 'json' }, "'format' must be a function"],
    [{ url: 'https://example.com', headers: { 'a b': '1' } }, "'headers' cannot be sent"],
    [{ url: 'https://example.com', headers: { 'Webhook-Id': '1' } }, 'webhook-id is set by pshub for each job'],
    [{ url: 'https://example.com', headers: { 'Content-Length': '1' } }, 'content-length is set by pshub for each job'],
    [{ url: 'https://example.com', secrets: [] }, "did you mean 'secret'"],
  ])('%o is refused', (options, why) => {
    expect(() => webhook(options as WebhookOptions)).toThrow(why)
  })
})
