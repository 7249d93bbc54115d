import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { queueKeys } from '../support/queue-keys.ts'

/** Requests that no Hub pushed: written by hand, in any form. */
const server = useRedis()

const keys = () => queueKeys(server)

describe('what is pushed by hand', () => {
  const answered = async (message: string, list: string) => {
    await server.redis.rpush(keys().calls, message)
    await server.redis.rpush(keys().bell, '1')
    await server.redis.ltrim(keys().bell, 0, 0)
    const popped = await server.redis.blpop(list, 5)
    return JSON.parse(popped![1])
  }

  it('wakes an idle worker at once', async () => {
    await server.worker([defineTask('echo:1.0', {}, args => args)])
    for (let n = 0; n < 5; n++) {
      const started = performance.now()
      const list = keys().reply(`hand-${n}`)
      const reply = await answered(`{"id":"i${n}","task":"echo:1.0","args":${n},"result_queue":"${list}"}`, list)
      expect(performance.now() - started).toBeLessThan(1000)
      expect(reply).toMatchObject({ id: `i${n}`, ok: true, result: n })
    }
  })

  it('runs once, whatever its fields and their order', async () => {
    const runs: unknown[] = []
    const echo = defineTask('echo:1.0', {}, args => {
      runs.push(args)
      return args
    })
    const worker = await server.worker([echo])
    const messages = [
      { result_queue: '', args: 1, task: 'echo:1.0', id: 'another-order' },
      { id: 'no-time', task: 'echo:1.0', args: 2, result_queue: '' },
      { ttl: 5000, id: 'ttl-alone', task: 'echo:1.0', args: 3, result_queue: '' },
      { at: Date.now() * 1000, ttl: 5000, id: 'spaced', task: 'echo:1.0', args: 4, result_queue: '' },
      { task: 'echo:1.0', args: 5, result_queue: '' },
      { id: 'unknown-fields', extra: [1], task: 'echo:1.0', args: 6, result_queue: '', key: {} },
      { id: 'no-args', task: 'echo:1.0', result_queue: '' },
    ]
    for (const [n, message] of messages.entries()) {
      const list = keys().reply(`hand-${n}`)
      const reply = await answered(JSON.stringify({ ...message, result_queue: list }, null, 2), list)
      expect(reply).toMatchObject({ ok: true, result: message.args ?? {} })
      if (message.id !== undefined) expect(reply.id).toBe(message.id)
    }
    await eventually(async () => (await server.redis.hlen(keys().held(worker.id))) === 0, 1000)
    // Long enough for the worker to look twice for what it holds without knowing of it.
    await new Promise(resolve => setTimeout(resolve, 2500))
    expect(runs).toEqual([1, 2, 3, 4, 5, 6, {}])
    expect((await server.keys()).filter(key => key.startsWith('reply'))).toEqual([])
  })

  it('is not started after its deadline, even where the scripts cannot see that', async () => {
    const runs: unknown[] = []
    const worker = await server.worker([defineTask('echo:1.0', {}, args => runs.push(args))])
    const late = '{"ttl":100,"id":"late","task":"echo:1.0","args":"late","at":1795220163659000}'
    await server.redis.rpush(keys().calls, late, '{"id":"last","task":"echo:1.0","args":"last"}')
    await eventually(() => runs.includes('last'))
    await eventually(async () => (await server.redis.hlen(keys().held(worker.id))) === 0)
    expect(runs).toEqual(['last'])
  })

  it('is dropped when it is not a request, and spoils nothing', async () => {
    const worker = await server.worker([defineTask('echo:1.0', {}, args => args)])
    const malformed: unknown[] = []
    worker.events.on('request:malformed', event => malformed.push(event.reason))
    const texts = ['', 'no JSON', '[]', '{}', '{"task":5}', '\u0000', '{"task":"echo:1.0","result_queue":"elsewhere"}']
    await server.redis.rpush(keys().calls, ...texts)
    expect(await server.hub().call('echo:1.0', 'fine')).toBe('fine')
    await eventually(() => malformed.length === texts.length)
    await eventually(async () => (await server.redis.hlen(keys().held(worker.id))) === 0)
    expect(await server.redis.exists('elsewhere')).toBe(0)
  })
})
