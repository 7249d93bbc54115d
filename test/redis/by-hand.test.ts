import { describe, expect, it } from 'vitest'
import { defineTask, type EventMap } from '../../src/index.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { gated } from '../support/noting-tasks.ts'
import { queueKeys } from '../support/queue-keys.ts'

/** Requests that no Hub pushed: written by hand, in any form. */
const server = useRedis()

const keys = () => queueKeys(server)

describe('what is pushed by hand', () => {
  const answered = async (message: string, list: string) => {
    await server.redis.rpush(keys().calls, message)
    await server.redis.rpush(keys().bell, '1')
    await server.redis.ltrim(keys().bell, 0, 0)
    const popped = await server.redis.blpop(list, 30)
    return JSON.parse(popped![1])
  }

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
    await eventually(async () => (await server.redis.hlen(keys().held(worker.id))) === 0)
    // The worker looks for what it holds without knowing of it: it would find the others again as it finds this one.
    await server.redis.hset(keys().held(worker.id), 'lost', '{"id":"lost","task":"echo:1.0","args":"lost"}')
    await eventually(() => runs.includes('lost'))
    await eventually(async () => (await server.redis.hlen(keys().held(worker.id))) === 0)
    expect(runs).toEqual([1, 2, 3, 4, 5, 6, {}, 'lost'])
    expect((await server.keys()).filter(key => key.startsWith('reply'))).toEqual([])
  })
})

describe('what is pushed by hand for a task that the worker at hand does not have', () => {
  const push = async (...messages: object[]) => {
    await server.redis.rpush(keys().calls, ...messages.map(message => JSON.stringify(message, null, 1)))
    await server.redis.rpush(keys().bell, '1')
  }
  const replyTo = async (list: string, seconds: number) => {
    const popped = await server.redis.blpop(list, seconds)
    return popped && JSON.parse(popped[1])
  }
  const nothingLeft = () =>
    eventually(async () => {
      const left = await server.keys()
      return !left.some(key => key.startsWith('{q}:held') || key === '{q}:calls')
    })

  it('does not go round for ever when nobody has it: it is answered, logged and counted', async () => {
    const workers = [
      await server.worker([defineTask('echo:1.0', {}, args => args)], { slots: 2 }),
      await server.worker([defineTask('other:1.0', {}, args => args)], { slots: 2 }),
    ]
    const ended: EventMap['request:unserved'][] = []
    for (const worker of workers) worker.events.on('request:unserved', event => ended.push(event))
    const lists = ['never', 'gone', 'died', 'elsewhere'].map(name => keys().reply(name))
    const card = (task: string, queue: string) => JSON.stringify({ task, queue, at: Math.floor(Date.now() / 1000) })
    const tasks = `${server.namespace}:tasks`
    await server.redis.hset(tasks, 'gone:1.0', card('gone:1.0', 'q'), 'far:1.0', card('far:1.0', 'other-queue'))
    await push(
      { task: 'never:1.0', id: 'a', result_queue: lists[0] },
      { task: 'gone:1.0', id: 'b', result_queue: lists[1] },
      { task: 'gone:1.0', id: 'c', result_queue: lists[2], losses: 1 },
      { task: 'far:1.0', id: 'd', result_queue: lists[3] },
      { task: 'never:1.0' },
    )
    const error = (code: string, message: RegExp) => ({
      ok: false,
      error: { code, message: expect.stringMatching(message) },
    })
    expect(await replyTo(lists[0]!, 30)).toMatchObject({ id: 'a', ...error('NoSuchTask', /ever declared never:1\.0/) })
    expect(await replyTo(lists[1]!, 30)).toMatchObject({ id: 'b', ...error('NoWorkers', /of queue q provides gone/) })
    expect(await replyTo(lists[2]!, 30)).toMatchObject({ id: 'c', ...error('WorkerLost', /provides gone:1\.0/) })
    expect(await replyTo(lists[3]!, 30)).toMatchObject({ id: 'd', ...error('NoWorkers', /in queue other-queue/) })
    await nothingLeft()
    expect(ended.map(({ task, code, answered }) => [task, code, answered]).sort()).toEqual([
      ['far:1.0', 'NoWorkers', true],
      ['gone:1.0', 'NoWorkers', true],
      ['gone:1.0', 'WorkerLost', true],
      ['never:1.0', 'NoSuchTask', false],
      ['never:1.0', 'NoSuchTask', true],
    ])
    const counted = async () => {
      const stats = await server.redis.hvals(`${server.namespace}:stats`)
      return stats.reduce((sum, text) => sum + JSON.parse(text).counters.unserved, 0)
    }
    await eventually(async () => (await counted()) === 5)
    expect(workers.map(({ busy }) => busy)).toEqual([0, 0])
  })

  it('waits as long as a live worker has it, even one that has no slot idle', async () => {
    const other = await server.worker([defineTask('echo:1.0', {}, args => args)])
    const { task, runs } = gated('slow:1.0')
    await server.worker([task], { slots: 1 })
    const handed: unknown[] = []
    other.events.on('request:handedback', event => handed.push(event))
    const running = server.hub().call('slow:1.0', 0, { timeoutMs: 60_000 })
    await eventually(() => runs.length === 1)
    const list = keys().reply('patient')
    await push({ task: 'slow:1.0', id: 'a', args: 1, result_queue: list })
    await eventually(() => handed.length > 0)
    // The worker that does not have it finds it again, and leaves it to the one that has.
    await push({ task: 'slow:1.0', id: 'b', args: 2, result_queue: keys().reply('later') })
    await eventually(() => handed.length > 2)
    for (const at of [0, 1, 2]) {
      await eventually(() => runs.length > at)
      runs[at]!.end()
    }
    await running
    expect(await replyTo(list, 30)).toMatchObject({ id: 'a', ok: true })
    expect(await replyTo(keys().reply('later'), 30)).toMatchObject({ id: 'b', ok: true })
  })

  it('ends at its deadline where the functions cannot see that', async () => {
    await server.worker([defineTask('echo:1.0', {}, args => args)])
    const list = keys().reply('spaced')
    const at = Date.now() * 1000
    await push({ at, ttl: 300, id: 'a', task: 'never:1.0', result_queue: list })
    expect(await replyTo(list, 30)).toMatchObject({ id: 'a', ok: false, error: { code: 'Expired' } })
    expect(Date.now() * 1000 - at).toBeGreaterThanOrEqual(300_000)
    await nothingLeft()
  })
})
