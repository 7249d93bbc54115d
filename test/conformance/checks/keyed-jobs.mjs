// Jobs with a key: enqueued and run by both languages, one at a time of each key, in their order.
import { deepEqual, equal, ok } from 'node:assert/strict'
import { eventually } from '../pair.mjs'
import { enqueue, entry, wellDone, wellDoneLater } from './jobs.mjs'

/** A worker of each language serves one queue. */
const withBoth = async pair => {
  const both = await pair.fresh({})
  await both.otherWorker(both.queue)
  return both
}

/** The journal without what has another beginning. */
const noted = (pair, beginning) => pair.journal().filter(line => line.startsWith(beginning))

/** What is noted of jobs that run one after the other. */
const inTurn = tokens => tokens.flatMap(token => [token, `${token} ended`])

/** Whether a line was written while something with another beginning ran. */
const isBeside = (line, at, lines) => at > 0 && !lines[at - 1].endsWith(' ended') && lines[at - 1][0] !== line[0]

export const keyedJobChecks = [
  {
    name: 'key: one job of it at a time, in the order in which both languages enqueued them, and others beside them',
    run: async pair => {
      const both = await withBoth(pair)
      const callers = [both.caller, await both.otherCaller()]
      // As either language may write them: what is a text's own is a key's own.
      const keys = { a: 'order-17', b: 'ü 😀 \u2028/\u007f', c: '{"c"}:[1]\\\n\u0001' }
      const jobs = { a: [], b: [], c: [] }
      for (let n = 0; n < 24; n++) {
        const name = 'abc'[n % 3]
        const job = entry('ordered:1.0', { ms: 100, token: `${name} ${n}` }, { key: keys[name], tracked: true })
        const answer = await both.jobs('enqueue', job, callers[Math.floor(n / 3) % 2])
        ok(answer.ok, JSON.stringify(answer.error))
        jobs[name].push({ token: `${name} ${n}`, job: answer.job })
      }
      for (const [name, own] of Object.entries(jobs)) {
        const fences = []
        for (const job of own) fences.push((await wellDone(both, job)).fence)
        for (const [at, fence] of fences.entries()) ok(at === 0 || fence > fences[at - 1], `${name}: ${fences}`)
        deepEqual(noted(both, `${name} `), inTurn(own.map(({ token }) => token)))
      }
      ok(both.journal().filter(isBeside).length > 0, String(both.journal()))
      await eventually(
        async () => !(await both.redis.keys(`${both.key('')}*`)).some(isOfKeys),
        'the end of all that keys leave',
      )
    },
  },
  {
    name: 'key: a call of its task is refused, as it would run beside it',
    run: async pair => equal((await pair.call('ordered:1.0', { token: 'called' })).error?.code, 'InvalidArgs'),
  },
  {
    name: 'key: one that fails holds the next one of its key, and no other',
    run: async pair => {
      const both = await withBoth(pair)
      await enqueue(both, 'ordered:1.0', { fails: 2, token: 'held 1' }, { key: 'a', backoff: 1000 })
      const next = await enqueue(both, 'ordered:1.0', { token: 'held 2' }, { key: 'a', tracked: true })
      const other = await enqueue(both, 'ordered:1.0', { token: 'free' }, { key: 'b', tracked: true })
      await wellDone(both, other)
      await wellDone(both, next)
      const journal = both.journal()
      ok(journal.indexOf('free ended') < journal.lastIndexOf('held 1'), String(journal))
      deepEqual(noted(both, 'held'), inTurn(['held 1', 'held 1', 'held 1', 'held 2']))
    },
  },
  {
    name: 'key: one that fails lets the next ones pass where its task says so',
    run: async pair => {
      const both = await withBoth(pair)
      const options = { key: 'a', tracked: true }
      const first = await enqueue(both, 'passing:1.0', { fails: 1, token: 'let 1' }, options)
      const next = await enqueue(both, 'passing:1.0', { token: 'let 2' }, options)
      const [late, early] = [await wellDone(both, first), await wellDone(both, next)]
      deepEqual([late.attempt, early.attempt], [2, 1])
      ok(late.fence > early.fence, `${late.fence} ${early.fence}`)
      deepEqual(noted(both, 'let'), inTurn(['let 1', 'let 2', 'let 1']))
    },
  },
  {
    name: 'key: of steps of a chain through both languages, of jobs of a batch, and of a schedule',
    run: async pair => {
      await pair.otherWorker('other')
      const keyed = entry('ordered:1.0', {}, { key: 'a', pass: 'was' })
      const chain = await pair.jobs('chain', { entries: [entry('echo:1.0', {}, { queue: 'other' }), keyed] })
      ok(chain.ok, JSON.stringify(chain.error))
      ok((await wellDoneLater(pair, chain.jobs[1])).fence > 1e15)
      const entries = [1, 2, 3].map(n => entry('ordered:1.0', { token: `of a batch ${n}` }, { key: 'a' }))
      const batch = await pair.jobs('batch', { entries, then: entry('echo:1.0') })
      ok(batch.ok, JSON.stringify(batch.error))
      await wellDoneLater(pair, batch.after)
      deepEqual(noted(pair, 'of a batch'), inTurn(['of a batch 1', 'of a batch 2', 'of a batch 3']))
      const tick = entry('ordered:1.0', { token: 'of a schedule' }, { key: 'a' })
      const made = await pair.jobs('schedule', { ...tick, name: 'keyed', times: { cron: '* * * * * *' } })
      ok(made.ok, JSON.stringify(made.error))
      await eventually(() => pair.starts('of a schedule') > 0, 'a time of it')
      await pair.jobs('unschedule', { queue: pair.queue, name: 'keyed' })
    },
  },
  {
    name: 'key: needed for a task that has keys, refused for any other, and what it may be',
    run: async pair => {
      const refusal = async (task, options) => {
        const { error } = await pair.jobs('enqueue', entry(task, {}, options))
        equal(error?.code, 'InvalidArgs', JSON.stringify({ task, options }))
        return error.message
      }
      ok((await refusal('ordered:1.0', {})).includes('its jobs are ordered: give a key, for example '))
      ok((await refusal('echo:1.0', { key: 'a' })).includes('no worker declared the task as keyed'))
      for (const key of ['', 'x'.repeat(201), 'ü'.repeat(101), 7])
        ok((await refusal('ordered:1.0', { key })).includes('key must be a string of 1 to 200 bytes, not '))
      for (const priority of ['high', 'low'])
        ok((await refusal('ordered:1.0', { key: 'a', priority })).includes('jobs with a key have no priority'))
      await wellDone(pair, await enqueue(pair, 'ordered:1.0', {}, { key: 'ü'.repeat(100), tracked: true }))
      await wellDone(pair, await enqueue(pair, 'ordered:1.0', {}, { key: 'a', priority: 'normal', tracked: true }))
    },
  },
  {
    name: 'worker killed: its job with a key runs again before the next one',
    side: 'worker',
    run: async pair => {
      const two = await pair.twoWorkers()
      const options = { key: 'a', tracked: true }
      const first = await enqueue(two, 'ordered:1.0', { ms: 1500, token: 'lost 1' }, options)
      const next = await enqueue(two, 'ordered:1.0', { token: 'lost 2' }, options)
      await eventually(() => two.starts('lost 1'), 'the start')
      await (await two.holder()).kill()
      const [again, later] = [await wellDone(two, first), await wellDone(two, next)]
      ok(later.fence > again.fence, `${again.fence} ${later.fence}`)
      deepEqual(noted(two, 'lost'), ['lost 1', ...inTurn(['lost 1', 'lost 2'])])
    },
  },
]

const isOfKeys = key => /:(line|keys|running|keyed)(:|$)/.test(key)
