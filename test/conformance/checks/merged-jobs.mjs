// Merged jobs: enqueued and run by both languages; what waits of a key is handed over together, each payload once.
import { deepEqual, equal, ok } from 'node:assert/strict'
import { eventually } from '../pair.mjs'
import { enqueue, entry } from './jobs.mjs'

const task = 'merged:1.0'

/** Payloads by key, as the journal has them: of each run `<key>=<token>,<token>` for each of its keys. */
const runsOf = pair =>
  pair.journal().map(line => new Map(line.split(' ').map(each => [each.split('=')[0], each.split('=')[1].split(',')])))

/** All that was handed over of a key, in that order. */
const handledOf = (pair, key) => runsOf(pair).flatMap(run => run.get(key) ?? [])

/** A worker of each language serves one queue, and a caller of each enqueues. */
const withBoth = async pair => {
  const both = await pair.fresh({})
  await both.otherWorker(both.queue)
  return { both, callers: [both.caller, await both.otherCaller()] }
}

/** The same, but what is enqueued waits for `serve`: the task is known, and nobody takes anything yet. */
const withCallers = async pair => {
  const both = await pair.fresh({})
  await both.worker.end()
  const serve = async () => {
    await both.startWorker()
    await both.otherWorker(both.queue)
  }
  return { both, callers: [both.caller, await both.otherCaller()], serve }
}

/** What workers hold, at one moment: which keys, in which worker's hands. */
const lookAtRuns = async pair => {
  const workers = await pair.redis.zrange(pair.key('leases'), 0, -1)
  const look = pair.redis.multi()
  for (const worker of workers) look.hvals(pair.key(`held:${worker}`))
  const held = (await look.exec()).map(([, texts]) => texts)
  return workers.flatMap((worker, at) =>
    held[at].map(text => ({ worker, keys: (JSON.parse(text).job?.run ?? []).map(([key]) => key) })),
  )
}

/** Looks again and again until `isOver`: no key may be in two runs. */
const watchRuns = (pair, isOver) =>
  eventually(async () => {
    const runs = await lookAtRuns(pair)
    const keys = runs.flatMap(run => run.keys)
    equal(new Set(keys).size, keys.length, `two runs have a key: ${JSON.stringify(runs)}`)
    return isOver()
  }, 'the end of all runs')

/** Nothing of keys is left in Redis. */
const areGone = pair =>
  eventually(async () => !(await pair.redis.keys(`${pair.key('')}*`)).some(isOfKeys), 'the end of all that keys leave')

const byNumber = (a, b) => a - b

const isOfKeys = key => /:(merged|tried|next|keys|running|keyed|lined|scores)(:|$)/.test(key)

export const mergedJobChecks = [
  {
    name: 'merged: each payload once, in the order of scores, never two runs of a key, in both languages',
    run: async pair => {
      const { both, callers } = await withBoth(pair)
      const keys = ['order-17', 'ü😀', '{"c"}:[1]\\\u0001', 'd', 'e', 'f', 'g', 'h', 'i']
      const scores = new Map(keys.map(key => [key, new Map()]))
      const count = 90
      const watching = watchRuns(both, () => keys.reduce((sum, key) => sum + handledOf(both, key).length, 0) >= count)
      watching.catch(() => undefined)
      for (let n = 0; n < count; n++) {
        const key = keys[n % keys.length]
        const token = `t${n}`
        // Where none is given, of every other key, it is the time.
        const score = keys.indexOf(key) % 2 === 0 ? {} : { score: ((n * 7) % 90) / 4 }
        const answer = await both.jobs('enqueue', entry(task, { token, ms: 25 }, { key, ...score }), callers[n % 2])
        ok(answer.ok, JSON.stringify(answer.error))
        scores.get(key).set(token, score.score ?? n)
      }
      await watching
      for (const [key, own] of scores) {
        deepEqual(handledOf(both, key).sort(), [...own.keys()].sort(), key)
        // Those of a run have the order of their scores, whatever came meanwhile; times grow from run to run, too.
        const orders = runsOf(both).map(run => (run.get(key) ?? []).map(token => own.get(token)))
        for (const order of keys.indexOf(key) % 2 === 0 ? [orders.flat()] : orders)
          deepEqual(order, order.toSorted(byNumber), key)
      }
      ok(runsOf(both).every(run => run.size <= 3))
      await areGone(both)
    },
  },
  {
    name: 'merged: equal payloads of two languages are one, and the later score counts',
    run: async pair => {
      const { both, callers, serve } = await withCallers(pair)
      const texts = [
        '{"token":"same","b":[1.0,2e3,"ü\\u2028"],"a":{}}',
        '{"a":{},"b":[1,2000,"\\u00fc\u2028"],"token":"same"}',
      ]
      for (const [at, args] of texts.entries()) {
        const answer = await both.jobs('enqueue', { task, args, options: { key: 'a', score: 1 + at * 2 } }, callers[at])
        ok(answer.ok, JSON.stringify(answer.error))
      }
      await enqueue(both, task, { token: 'between' }, { key: 'a', score: 2 })
      await serve()
      await eventually(() => both.journal().length > 0, 'the run')
      deepEqual(both.journal(), ['a=between,same'])
      await areGone(both)
    },
  },
  {
    name: 'merged: what fails comes back with what came meanwhile, and what came while it runs waits',
    run: async pair => {
      const { both } = await withBoth(pair)
      await enqueue(both, task, { token: 'first', ms: 1000, fails: 1 }, { key: 'a', score: 2 })
      await eventually(() => both.starts('a=first'), 'the run')
      await enqueue(both, task, { token: 'second' }, { key: 'a', score: 1 })
      await enqueue(both, task, { token: 'other' }, { key: 'b' })
      await eventually(() => both.starts('a=second,first'), 'the run of both')
      deepEqual(both.journal(), ['a=first', 'b=other', 'a=second,first'])
      await areGone(both)
    },
  },
  {
    name: 'merged: a payload that is no JSON is given up and the others run; it is put back with others in its place',
    run: async pair => {
      const { both, serve } = await withCallers(pair)
      await enqueue(both, task, { token: 'good' }, { key: 'a', score: 2 })
      await both.redis.zadd(both.key(`merged:${task}:a`), 1, '{not],["json')
      await serve()
      const dead = await eventually(async () => {
        const { dead: found } = await both.jobs('dead', { queue: both.queue })
        return found.length > 0 && found
      }, 'its death')
      equal(dead.length, 1)
      const [{ job, codes, args, tries, task: of }] = dead
      deepEqual([of, tries, codes, JSON.parse(args)], [task, 1, ['InvalidArgs'], '{not],["json'])
      await eventually(() => both.starts('a=good'), 'the run of the other one')
      await enqueue(both, task, { token: 'waits' }, { key: 'a', score: 3, delay_ms: 60_000 })
      const mended = { queue: both.queue, ids: [job], args: '{"token":"mended"}' }
      equal((await both.jobs('retry', mended)).count, 1)
      // What it merges with is due then.
      await eventually(() => both.starts('a=mended,waits'), 'the run of what was put back')
      equal((await both.jobs('dead', { queue: both.queue })).dead.length, 0)
      await areGone(both)
    },
  },
  {
    name: 'merged: what is refused',
    run: async pair => {
      const refusal = async (name, options) => {
        const { error } = await pair.jobs('enqueue', entry(name, { token: 'refused' }, options))
        equal(error?.code, 'InvalidArgs', JSON.stringify({ name, options }))
        return error.message
      }
      ok((await refusal(task, {})).includes('its jobs are merged: give a key, for example '))
      for (const score of ['1', 2 ** 54])
        ok((await refusal(task, { key: 'a', score })).includes('score must be a number'))
      for (const options of [{ tracked: true }, { unique: true }, { retries: 1 }, { backoff: 5 }, { expires_ms: 5 }])
        ok((await refusal(task, { key: 'a', ...options })).includes('is not allowed for a merged job'))
      ok((await refusal('echo:1.0', { score: 1 })).includes('score is for merged jobs'))
      const merged = entry(task, { token: 'refused' }, { key: 'a' })
      for (const flow of ['chain', 'batch'])
        equal((await pair.jobs(flow, { entries: [merged] })).error?.code, 'InvalidArgs')
      equal((await pair.call(task, { token: 'refused' })).error?.code, 'InvalidArgs')
      equal(pair.journal().filter(line => line.includes('refused')).length, 0)
    },
  },
  {
    name: 'worker killed: a run of merged jobs runs again, with what came meanwhile',
    side: 'worker',
    run: async pair => {
      const two = await pair.fresh({})
      await two.startWorker()
      await enqueue(two, task, { token: 'lost', ms: 1500 }, { key: 'a', score: 1 })
      await eventually(() => two.starts('a=lost'), 'the start')
      await enqueue(two, task, { token: 'later' }, { key: 'a', score: 2 })
      await (await two.holder()).kill()
      await eventually(() => two.starts('a=lost,later'), 'its next run')
      deepEqual(two.journal(), ['a=lost', 'a=lost,later'])
      await areGone(two)
    },
  },
]
