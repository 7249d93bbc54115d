// Jobs: enqueued by one language, run by the other; what becomes of them, and what either side tells of it.
import { deepEqual, equal, ok } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { eventually, pause } from '../pair.mjs'

export const entry = (task, args = {}, options = {}) => ({ task, args: JSON.stringify(args), options })
/** Where the caller's language serves. */
const other = 'other'

export const enqueue = async (pair, task, args, options) => {
  const job = await pair.jobs('enqueue', entry(task, args, options))
  ok(job.ok, JSON.stringify(job.error))
  return job
}

const resultOf = (pair, { job }, queue = pair.queue, caller = undefined) =>
  pair.jobs('result', { job, queue, timeout_ms: 90_000 }, caller)

export const wellDone = async (pair, job, queue, caller) => {
  const { ok: isOk, result, error } = await resultOf(pair, job, queue, caller)
  ok(isOk, JSON.stringify(error))
  return result
}

/** The same of one that comes when others have ended: nothing is known of it before. */
export const wellDoneLater = async (pair, id) => {
  await eventually(async () => (await statusOf(pair, { job: id })).ok, `the coming of ${id}`)
  return wellDone(pair, { job: id })
}

const statusOf = (pair, { job }) => pair.jobs('status', { job, queue: pair.queue })

const hasGone = (pair, key) =>
  eventually(async () => (await pair.redis.exists(pair.key(key))) === 0, `the end of ${key}`)

const flows = [
  {
    name: 'job: run once, with its result, and awaited by the other language, too',
    run: async pair => {
      const job = await enqueue(pair, 'echo:1.0', { x: 1, token: 'job' }, { keep_result_ms: 60_000 })
      equal(job.task, 'echo:1.0')
      deepEqual(await wellDone(pair, job), { x: 1, token: 'job' })
      equal(pair.starts('job'), 1)
      const waiting = await enqueue(pair, 'echo:1.0', [1], { tracked: true, delay_ms: 400 })
      const awaited = wellDone(pair, waiting, pair.queue, await pair.otherCaller())
      deepEqual(await awaited, [1])
      equal((await statusOf(pair, waiting)).state, 'done')
      equal(await pair.held(), 0)
    },
  },
  {
    name: 'job: without a record nothing is known of it',
    run: async pair => {
      const job = await enqueue(pair, 'echo:1.0', { token: 'plain' })
      await eventually(() => pair.starts('plain'), 'its run')
      await eventually(async () => (await pair.held()) === 0, 'its release')
      equal((await statusOf(pair, job)).error.code, 'NoSuchJob')
    },
  },
  {
    name: 'job: tried again with its failures kept, dead, and given another chance with other arguments',
    run: async pair => {
      const twice = await enqueue(pair, 'flaky:1.0', { fails: 2, token: 'twice' }, { tracked: true })
      equal((await wellDone(pair, twice)).attempt, 3)
      equal(pair.starts('twice'), 3)
      const failing = await enqueue(pair, 'flaky:1.0', { fails: 99 }, { retries: 2, backoff: 5, tracked: true })
      const { error } = await resultOf(pair, failing)
      deepEqual([error.code, error.message, error.ran], ['TaskFailed', 'try 3 {failed}', 'yes'])
      deepEqual(await statusOf(pair, failing).then(({ state, tries, code }) => [state, tries, code]), [
        'dead',
        3,
        'TaskFailed',
      ])
      const { dead } = await pair.jobs('dead', { queue: pair.queue })
      const [buried] = dead
      equal(dead.length, 1)
      deepEqual([buried.job, buried.task, buried.tries], [failing.job, 'flaky:1.0', 3])
      deepEqual([buried.codes, JSON.parse(buried.args)], [Array(3).fill('TaskFailed'), { fails: 99 }])
      const retry = { queue: pair.queue, ids: [failing.job], args: '{"fails":0}' }
      equal((await pair.jobs('retry', retry)).count, 1)
      equal((await wellDone(pair, failing)).attempt, 1)
    },
  },
  {
    name: 'job: waits for a worker that has its task, and is retried',
    run: async pair => {
      const job = await enqueue(pair, 'nobody:1.0', {}, { queue: pair.queue, tracked: true })
      await eventually(async () => (await statusOf(pair, job)).state === 'retrying', 'its first retry')
      const [waiting] = await pair.redis.zrange(pair.key('retries'), 0, -1)
      equal(JSON.parse(waiting).job.errors[0].code, 'NoSuchTask')
      await pair.redis.del(pair.key('retries'), pair.key(`job:${job.job}`))
    },
  },
  {
    name: 'job: not before its time, and not after it',
    run: async pair => {
      const startedAt = performance.now()
      const late = await enqueue(pair, 'echo:1.0', {}, { delay_ms: 600, tracked: true })
      equal((await statusOf(pair, late)).state, 'scheduled')
      await wellDone(pair, late)
      ok(performance.now() - startedAt >= 595, `after ${performance.now() - startedAt} ms`)
      await pause(
        pair,
        (await pair.workerCards()).find(({ pid }) => pid === pair.worker.pid),
      )
      const expiring = await enqueue(pair, 'echo:1.0', { token: 'expired' }, { expires_ms: 100, tracked: true })
      // It expires meanwhile.
      await sleep(150)
      await pair.redis.del(pair.key('paused'))
      equal((await resultOf(pair, expiring)).error.code, 'Expired')
      equal(pair.starts('expired'), 0)
    },
  },
  {
    name: 'job: cancelled while it waits, and while it runs',
    run: async pair => {
      const waiting = await enqueue(pair, 'echo:1.0', { token: 'kept away' }, { delay_ms: 3000, tracked: true })
      equal((await pair.jobs('cancel', { job: waiting.job, queue: pair.queue })).cancelled, true)
      equal((await resultOf(pair, waiting)).error.code, 'Aborted')
      const running = await enqueue(pair, 'slow:1.0', { ms: 90_000, token: 'running' }, { tracked: true })
      await eventually(() => pair.starts('running'), 'the start')
      equal((await pair.jobs('cancel', { job: running.job, queue: pair.queue })).cancelled, false)
      // What a handler still returns counts.
      deepEqual(await wellDone(pair, running), { aborted: true })
      await hasGone(pair, 'scheduled')
      equal(pair.starts('kept away'), 0)
    },
  },
  {
    name: 'job: one of a kind at a time, whichever language asks',
    run: async pair => {
      const caller = await pair.otherCaller()
      const unique = { unique: true, delay_ms: 4000 }
      const first = await enqueue(pair, 'echo:1.0', { b: [1.5], a: 'é' }, unique)
      const twin = await pair.jobs('enqueue', entry('echo:1.0', { a: 'é', b: [1.5] }, unique), caller)
      deepEqual([first.twin, twin.twin, twin.job], [false, true, first.job])
      const another = await enqueue(pair, 'echo:1.0', { a: 'e' }, { unique: { id: 'mine', for_ms: 5000 } })
      equal(another.twin, false)
      await wellDone(pair, first)
      const again = await enqueue(pair, 'echo:1.0', { b: [1.5], a: 'é' }, { unique: true })
      equal(again.twin, false)
      await wellDone(pair, again)
      await wellDone(pair, another)
    },
  },
]

const together = [
  {
    name: 'chain: through workers of both languages',
    run: async pair => {
      await pair.otherWorker(other)
      const entries = [
        entry('flaky:1.0', { fails: 1 }, { queue: pair.queue }),
        entry('echo:1.0', { n: 9 }, { queue: other, pass: 'first' }),
        entry('echo:1.0', {}, { queue: pair.queue, pass: 'second' }),
      ]
      const chain = await pair.jobs('chain', { entries })
      ok(chain.ok, JSON.stringify(chain.error))
      const { second } = await wellDoneLater(pair, chain.jobs[2])
      deepEqual([second.n, second.first.attempt], [9, 2])
      deepEqual(chain.jobs, [chain.job, `${chain.job}-2`, `${chain.job}-3`])
      await eventually(async () => (await pair.held()) === 0, 'the release')
    },
  },
  {
    name: 'chain: held by a dead step, and going on with it',
    run: async pair => {
      await pair.otherWorker(other)
      const dying = entry('flaky:1.0', { fails: 9 }, { queue: other, retries: 0 })
      const entries = [dying, entry('echo:1.0', {}, { queue: pair.queue, pass: 'was' })]
      const chain = await pair.jobs('chain', { entries })
      const find = async () => (await pair.jobs('dead', { queue: other })).dead[0]
      const dead = await eventually(find, 'its death')
      deepEqual([dead.job, dead.following], [chain.job, 1])
      await pair.jobs('retry', { queue: other, ids: [chain.job], args: '{"fails":0}' })
      equal((await wellDoneLater(pair, chain.jobs[1])).was.attempt, 1)
    },
  },
  {
    name: 'batch: counted over workers of both languages, and followed once',
    run: async pair => {
      await pair.otherWorker(other)
      const queues = [pair.queue, other]
      const entries = Array.from({ length: 10 }, (_, n) => entry('echo:1.0', { n }, { queue: queues[n % 2] }))
      const then = entry('echo:1.0', { token: 'after' }, { queue: pair.queue })
      const failed = entry('echo:1.0', { token: 'failed' }, { queue: pair.queue })
      const well = await pair.jobs('batch', { entries, then, failed })
      ok(well.ok, JSON.stringify(well.error))
      await wellDoneLater(pair, well.after)
      deepEqual([pair.starts('after'), pair.starts('failed')], [1, 0])
      const dying = entry('flaky:1.0', { fails: 9 }, { queue: other, retries: 0 })
      const badly = await pair.jobs('batch', { entries: [...entries, dying], then, failed })
      await wellDoneLater(pair, badly.failed)
      deepEqual([pair.starts('after'), pair.starts('failed')], [1, 1])
      await pair.redis.del(`${pair.namespace}:{${other}}:dead`)
    },
  },
  {
    name: 'schedule: made by one language, kept up by the other',
    run: async pair => {
      const times = { cron: '* * * * * *', timezone: 'Europe/Berlin' }
      const args = { ...entry('echo:1.0', { token: 'tick' }), name: 'each-second', times }
      const made = await pair.jobs('schedule', args)
      ok(made.ok, JSON.stringify(made.error))
      await eventually(() => pair.starts('tick') >= 2, 'two of its times')
      const { schedules } = await pair.jobs('schedules', { queue: pair.queue }, await pair.otherCaller())
      deepEqual(
        schedules.map(({ name, cron }) => [name, cron]),
        [['each-second', '* * * * * *']],
      )
      equal((await pair.jobs('unschedule', { queue: pair.queue, name: 'each-second' })).removed, true)
      const wrong = await pair.jobs('schedule', { ...args, times: { cron: '0 0 LW * *' } })
      equal(wrong.error.code, 'InvalidArgs')
      ok(wrong.error.message.includes("its day of month cannot be 'LW'"), wrong.error.message)
    },
  },
]

const faults = [
  {
    name: 'worker killed: another one runs its job',
    side: 'worker',
    run: async pair => {
      const two = await pair.twoWorkers()
      const job = await enqueue(two, 'slow:1.0', { ms: 1500, token: 'killed' }, { tracked: true })
      await eventually(() => two.starts('killed'), 'the start')
      const killed = await two.holder()
      await killed.kill()
      deepEqual(await wellDone(two, job), { aborted: false })
      equal(two.starts('killed'), 2)
      equal((await statusOf(two, job)).tries, 0)
    },
  },
  {
    name: 'worker told to stop: a job that its grace is too short for goes back',
    side: 'worker',
    run: async pair => {
      const two = await pair.fresh({ worker: { env: { PSHUB_GRACE_MS: '300' } } })
      const job = await enqueue(two, 'slow:1.0', { ms: 1500, token: 'stopped' }, { tracked: true })
      await eventually(() => two.starts('stopped'), 'the start')
      equal((await two.worker.kill('SIGTERM')).code, 0)
      equal(await two.redis.llen(two.key('jobs')), 1)
      await two.startWorker()
      deepEqual(await wellDone(two, job), { aborted: false })
    },
  },
  {
    name: 'connections cut: jobs come once each, and run',
    side: 'both',
    run: async pair => {
      const two = await pair.proxied()
      const jobs = []
      for (let n = 0; n < 30; n++) {
        if (n % 10 === 5) for (const proxy of [two.callers, two.workers]) proxy.cut()
        jobs.push(
          await pair.jobs(
            'enqueue',
            entry('echo:1.0', { token: `cut ${n}` }, { queue: two.queue, tracked: true }),
            two.caller,
          ),
        )
      }
      for (const job of jobs.filter(each => each.ok)) await wellDone(two, job)
      for (const { error } of jobs.filter(each => !each.ok)) equal(error.code, 'OutcomeUnknown')
    },
  },
]

export const jobChecks = [...flows, ...together, ...faults]
