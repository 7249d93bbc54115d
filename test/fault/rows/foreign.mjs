// Requests that no worker here can run: they go round, from worker to worker, and must cost neither slots nor processor.
import { functionNamed, waited } from './connections.mjs'
import { runningBy, startLongCalls, times } from './workers.mjs'

const slots = 4
const faultMs = 6000
const foreignJobs = 3
/** Each of two workers rests up to 400 ms after a foreign request, and claims for a load of 10 calls a second. */
const mostClaims = 100

const push = async (stage, list, bell, fields) => {
  const id = `hand-${stage.integer(1, 1e9)}`
  const [seconds, micros] = await stage.redis.time()
  const request = { at: seconds * 1e6 + Number(micros), ttl: 0, id, args: { token: id, ms: 400, pad: '' }, ...fields }
  await stage.redis.multi().rpush(`pshub:{q}:${list}`, JSON.stringify(request)).rpush(`pshub:{q}:${bell}`, '1').exec()
}

/** Jobs that run beside each other at this moment, by the journal. */
const jobsBeside = stage => {
  const { runs } = stage.history()
  const jobs = [...runs.values()].filter(({ token }) => String(token).startsWith('hand-'))
  return Math.max(0, ...jobs.map(({ at }) => jobs.filter(other => other.at <= at && !(other.end < at)).length))
}

export const foreignRows = [
  {
    id: 'F29-foreign',
    title: 'requests for tasks that nobody here has go round',
    load: { perSecond: 10 },
    workerOptions: { slots, jobSlots: slots },
    warmMs: 1000,
    faultMs,
    afterMs: 2000,
    async inject(stage) {
      stage.claims = 0
      const name = functionNamed('claim')
      stage.workerProxy.onPassed = chunk => {
        if (chunk.includes(name)) stage.claims++
      }
      // These end with their deadline, calls without one when nobody has had their task for two seconds.
      for (let i = 0; i < 5; i++) await push(stage, 'calls', 'bell', { task: 'elsewhere:1.0', ttl: faultMs - 500 })
      for (let i = 0; i < 2; i++) await push(stage, 'calls', 'bell', { task: 'nowhere:1.0' })
      for (let i = 0; i < foreignJobs; i++) await push(stage, 'jobs', 'jobbell', { task: 'nowhere:1.0' })
    },
    /** All slots must be there after it, for jobs and for calls, and no more than these. */
    async heal(stage) {
      const perSecond = stage.claims / (faultMs / 1000)
      if (perSecond > mostClaims) stage.found.push({ invariant: 'busy', what: `${Math.round(perSecond)} claims/s` })
      for (let i = 0; i < 24; i++) await push(stage, 'jobs', 'jobbell', { task: 'again:1.0' })
      const most = 2 * slots
      const isFull = await stage.until(() => jobsBeside(stage) >= most - 1, 4000)
      if (!isFull) stage.found.push({ invariant: 'slots', what: `${jobsBeside(stage)} jobs ran at once, of ${most}` })
      await stage.until(async () => (await stage.redis.llen('pshub:{q}:jobs')) === 0, 5000)
      await startLongCalls(stage, times(most, { idempotent: true, ms: 1500, timeoutMs: 5000 }))
      const running = [...runningBy(stage).values()].reduce((sum, count) => sum + count, 0)
      if (running < most) stage.found.push({ invariant: 'slots', what: `${running} calls ran at once, of ${most}` })
      // Jobs wait for a worker that has their task, and are retried meanwhile.
      const wait = () => stage.until(async () => (await stage.redis.zcard('pshub:{q}:retries')) === foreignJobs, 20_000)
      if (!(await wait())) stage.found.push({ invariant: 'lost', what: 'jobs that nobody can run do not wait' })
      await stage.redis.del('pshub:{q}:retries')
    },
    expect: { allowed: waited },
  },
]
