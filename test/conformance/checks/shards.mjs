// A queue that is spread over shards: served by one worker of each language, and enqueued into while that changes.
import { deepEqual, equal, ok } from 'node:assert/strict'
import { eventually } from '../pair.mjs'
import { enqueue, entry, wellDone } from './jobs.mjs'

/** Notes a record in these places, as `pshub shards` does. */
const note = async (pair, record, places) => {
  for (const place of places) {
    const key = `${pair.namespace}:{${place}}:shards`
    await pair.redis.call('FCALL', 'pshub_1_shard', 1, key, JSON.stringify(record), '')
  }
}

const namesOf = pair => [pair.queue, `shard.2.${pair.queue}`]

const served = async pair => {
  const cards = await pair.redis.hvals(`${pair.namespace}:workers`)
  return cards.map(card => JSON.parse(card).queue).sort()
}

/** A key whose jobs run in that one of two shards: by CRC-16/XMODEM of its text. */
const keyOf = at => {
  const crc = text => {
    let sum = 0
    for (const byte of Buffer.from(text)) {
      sum ^= byte << 8
      for (let bit = 0; bit < 8; bit++) sum = sum & 0x8000 ? ((sum << 1) ^ 0x1021) & 0xffff : (sum << 1) & 0xffff
    }
    return sum
  }
  return Array.from({ length: 50 }, (_, n) => `key ${n}`).find(key => crc(key) % 2 === at)
}

export const shardChecks = [
  {
    name: 'shards: one worker runs calls and jobs of all of them, and those with a key in their order',
    run: async pair => {
      const spread = await pair.fresh({})
      const names = namesOf(spread)
      await note(spread, { epoch: 1, names }, names)
      await eventually(async () => (await served(spread)).length === 2, 'a worker in both')
      deepEqual(await served(spread), [...names].sort())
      for (let n = 0; n < 6; n++) {
        const { ok: isOk, result, error } = await spread.call('echo:1.0', { n }, { queue: names[n % 2] })
        ok(isOk, JSON.stringify(error))
        equal(result.n, n)
      }
      const jobs = []
      for (let n = 0; n < 6; n++)
        jobs.push(await enqueue(spread, 'echo:1.0', { n }, { queue: spread.queue, tracked: true }))
      for (const [n, job] of jobs.entries()) equal((await wellDone(spread, job)).n, n)
      const key = keyOf(1)
      const keyed = []
      for (let n = 0; n < 4; n++)
        keyed.push(
          await enqueue(spread, 'ordered:1.0', { token: `k ${n}` }, { key, queue: spread.queue, tracked: true }),
        )
      for (const job of keyed) await wellDone(spread, job)
      deepEqual(
        spread.journal(),
        [0, 1, 2, 3].flatMap(n => [`k ${n}`, `k ${n} ended`]),
      )
    },
  },
  {
    name: 'shards: a hub asks where the jobs of a key are by the record of that place, and looks again while it is another one',
    run: async pair => {
      const spread = await pair.fresh({})
      await spread.worker.end()
      const [queue, shard] = namesOf(spread)
      await note(spread, { epoch: 1, names: [queue, shard] }, [queue, shard])
      // Its former home has not heard of the change yet.
      await note(spread, { epoch: 2, names: [queue], earlier: [queue, shard] }, [queue])
      const key = keyOf(1)
      const enqueued = spread.jobs('enqueue', entry('ordered:1.0', {}, { key, queue }))
      setTimeout(() => note(spread, { epoch: 2, names: [queue], earlier: [queue, shard] }, [shard]), 300)
      const answer = await enqueued
      ok(answer.ok, JSON.stringify(answer.error))
      const lines = await spread.redis.keys(`${spread.namespace}:*:line:*`)
      deepEqual(lines, [`${spread.namespace}:{${queue}}:line:ordered:1.0:${key}`])
      // It never hears of the next one.
      await note(spread, { epoch: 4, names: [queue], earlier: [queue, shard] }, [queue])
      const { error } = await spread.jobs(
        'enqueue',
        entry('ordered:1.0', {}, { key, queue }),
        await spread.startCaller(),
      )
      equal(error?.code, 'NotEnqueued', JSON.stringify(error))
      ok(error.message.includes(`The shards of queue ${queue} are changing`), error.message)
    },
  },
  {
    name: 'shards: what is no record there keeps no jobs back, nor does it once it is gone',
    run: async pair => {
      const spread = await pair.fresh({})
      const { queue } = spread
      await spread.redis.set(spread.key('shards'), '{"epoch":7,"names":[]}')
      await wellDone(spread, await enqueue(spread, 'echo:1.0', { n: 1 }, { queue, tracked: true }))
      await spread.redis.del(spread.key('shards'))
      await wellDone(spread, await enqueue(spread, 'echo:1.0', { n: 2 }, { queue, tracked: true }))
    },
  },
  {
    name: 'shards: a key of merged jobs is looked for in the queue itself, where they are kept, and one of ordered jobs in its home',
    run: async pair => {
      const spread = await pair.fresh({})
      await spread.worker.end()
      const names = namesOf(spread)
      const [queue, shard] = names
      await note(spread, { epoch: 1, names }, names)
      const key = keyOf(1)
      const places = { 'merged:1.0': queue, 'ordered:1.0': shard }
      for (const [task, place] of Object.entries(places)) {
        equal((await enqueue(spread, task, { token: 't' }, { key, queue })).queue, place)
        for (const named of [queue, undefined]) {
          const {
            ok: isOk,
            error,
            queue: found,
            state,
            waiting,
          } = await spread.jobs('key', { task, key, queue: named })
          ok(isOk, JSON.stringify(error))
          deepEqual([found, state, waiting], [place, 'due', 1], task)
        }
      }
    },
  },
]
