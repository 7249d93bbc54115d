// What a worker does with requests that no library made, and what it tells the registry. Done once per worker's language.
import { deepEqual, equal, ok } from 'node:assert/strict'
import { eventually, pause, seen } from '../pair.mjs'

const hub = 'somebody'

const byHand = (pair, fields) => ({ result_queue: `${pair.namespace}:reply:{${hub}}`, ...fields })

const answerTo = async (pair, fields) => {
  await pair.pushByHand(JSON.stringify(byHand(pair, fields)))
  return pair.replyTo(hub)
}

const beatMs = 1000

export const workerChecks = [
  {
    name: 'by hand: a request without an id is answered under a made-up one',
    run: async pair => {
      const reply = await answerTo(pair, { task: 'echo:1.0', args: { a: [], b: {} } })
      ok(/^[A-Za-z0-9_-]{1,64}$/.test(reply.id))
      deepEqual([reply.ok, reply.result], [true, { a: [], b: {} }])
      ok(
        ['backlog', 'queue', 'exec'].every(phase => Number.isInteger(reply.us[phase])),
        JSON.stringify(reply.us),
      )
    },
  },
  {
    name: 'by hand: without arguments they are {}',
    run: async pair => deepEqual((await answerTo(pair, { id: 'a1', task: 'echo:1.0' })).result, {}),
  },
  {
    name: 'by hand: the worker checks arguments itself',
    run: async pair => {
      const { error } = await answerTo(pair, { id: 'a2', task: 'add:1.0', args: { x: 'one', y: 2 } })
      equal(error.code, 'InvalidArgs')
      equal(error.data.problems[0].pointer, '/x')
    },
  },
  {
    name: 'leases that are gone altogether cost a worker nothing that it holds',
    run: async pair => {
      await pair.pushByHand(
        JSON.stringify(byHand(pair, { id: 'a3', task: 'slow:1.0', args: { ms: 2500, token: 'leases' } })),
      )
      await eventually(async () => (await pair.held()) === 1, 'the claim')
      await pair.redis.del(pair.key('leases'))
      deepEqual((await pair.replyTo(hub)).result, { aborted: false })
      await eventually(async () => (await pair.held()) === 0, 'the end of what is held')
    },
  },
  {
    name: 'malformed elements are dropped, released and counted',
    run: async pair => {
      const foreign = { task: 'echo:1.0', args: { token: 'foreign' } }
      const malformed = [
        'hello',
        '',
        '[1]',
        'null',
        '{"task":7}',
        '{"at":1,"ttl":0,"id":"n1","task":"echo:1.0","args":NaN}',
        '{"at":1,"ttl":0,"id":"n2","task":"echo:1.0","args":{"__proto__":1}}',
        JSON.stringify({ ...foreign, result_queue: `${pair.namespace}:tasks` }),
        JSON.stringify({ ...foreign, result_queue: `elsewhere:reply:{${hub}}` }),
        JSON.stringify({ ...foreign, result_queue: null }),
        `{"task":"echo:1.0","args":${'['.repeat(100_000)}`,
      ]
      for (const text of malformed) await pair.pushByHand(text)
      await eventually(async () => (await pair.waiting()) === 0 && (await pair.held()) === 0, 'the end of them')
      equal(pair.starts('foreign'), 0)
      const counted = async () => {
        const stats = Object.values(await pair.redis.hgetall(`${pair.namespace}:stats`)).map(text => JSON.parse(text))
        return stats.reduce((sum, { counters }) => sum + counters.malformed, 0) >= malformed.length
      }
      await eventually(counted, 'their count')
      equal((await answerTo(pair, { id: 'a3', task: 'echo:1.0', args: 1 })).result, 1)
    },
  },
  {
    name: 'a task that nobody has, without a deadline, is answered',
    run: async pair => {
      const reply = await answerTo(pair, { id: 'a4', task: 'nobodys:1.0' })
      equal(reply?.error.code, 'NoSuchTask')
      await eventually(async () => (await pair.held()) === 0, 'the end of what is held')
    },
  },
  {
    name: 'unknown fields are ignored',
    run: async pair => {
      const reply = await answerTo(pair, { id: 'a5', task: 'echo:1.0', args: 5, later: { a: 1 }, priority: 3 })
      equal(reply.result, 5)
    },
  },
  {
    name: 'a paused queue is not taken from, and is again when it is resumed',
    run: async pair => {
      const [card] = await pair.workerCards()
      const running = pair.call('slow:1.0', { ms: 2000, token: 'before the pause' }, { timeout_ms: 60_000 })
      await eventually(() => pair.starts('before the pause') === 1, 'its start')
      await pause(pair, card)
      let waiting
      try {
        equal((await running).ok, true)
        const late = await pair.call('echo:1.0', { token: 'too late' }, { timeout_ms: 1500 })
        equal(late.error?.code, 'Timeout')
        waiting = pair.call('echo:1.0', { token: 'resumed' }, { timeout_ms: 90_000 })
        await eventually(async () => (await pair.waiting()) === 2, 'both in the list')
        const since = await seen(pair, card)
        await eventually(async () => (await seen(pair, card)) > since + beatMs, 'its beats')
        deepEqual([await pair.waiting(), await pair.held(), pair.starts('resumed')], [2, 0, 0])
      } finally {
        await pair.redis.del(pair.key('paused'))
      }
      equal((await waiting).ok, true)
      deepEqual([pair.starts('resumed'), pair.starts('too late')], [1, 0])
      const ids = (await pair.workerCards()).map(({ id }) => id)
      deepEqual(ids, [card.id], 'it went on under its id')
    },
  },
  {
    name: 'a worker says which build of its program it runs',
    run: async pair =>
      deepEqual(
        (await pair.workerCards()).map(({ build }) => build),
        ['3f2c1a'],
      ),
  },
  {
    name: 'cards and statistics',
    run: async pair => {
      const [card] = await pair.workerCards()
      deepEqual([card.queue, card.slots, card.pid], [pair.queue, 4, pair.worker.pid])
      ok(typeof card.client === 'string' && card.started > 1.7e9)
      const declared = JSON.parse(await pair.redis.hget(`${pair.namespace}:tasks`, 'add:1.0'))
      deepEqual(
        [declared.task, declared.queue, declared.timeoutMs, declared.idempotent],
        ['add:1.0', pair.queue, 5000, false],
      )
      deepEqual(declared.args.properties.x.type, 'integer')
      equal(card.tasks['add:1.0'], declared.digest)
      ok(/^[0-9a-f]{12}$/.test(declared.digest))
      equal(JSON.parse(await pair.redis.hget(`${pair.namespace}:tasks`, 'again:1.0')).idempotent, true)
      // At one moment: a beat between two looks moves the lease.
      const look = pair.redis.multi().hget(`${pair.namespace}:stats`, card.id).zscore(pair.key('leases'), card.id)
      const [[, text], [, score]] = await look.exec()
      const stats = JSON.parse(text)
      const lease = Number(score)
      ok(stats.draining === false && stats.counters.ok > 0, JSON.stringify(stats))
      ok(
        lease - stats.seen > 500 && lease - stats.seen < 4000,
        `the lease ends ${lease - stats.seen} ms after the beat`,
      )
    },
  },
]
