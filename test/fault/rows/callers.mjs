// Faults of callers, of clocks, and of versions.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ensureFaketime } from '../../../tools/faketime.mjs'
import { waited } from './connections.mjs'
import { startLongCalls, times } from './workers.mjs'

const preload = join(import.meta.dirname, '../harness/shift-clock.mjs')

/** A process whose wall clock is wrong, or jumps while it runs. */
const shifted = (ms, afterMs = 0) => ({
  execArgv: ['--import', preload],
  env: { PSHUB_SHIFT_MS: String(ms), PSHUB_SHIFT_AFTER_MS: String(afterMs) },
})

const minutes = 60_000

/** A request as the first version wrote it, or as a later one may: fields are missing, or are not known yet. */
const oldRequest = async (stage, extra) => {
  const hub = randomBytes(16).toString('base64url')
  const token = `hand-${hub}`
  const [seconds, micros] = await stage.redis.time()
  const list = `pshub:reply:{${hub}}`
  const args = { token, ms: 10, pad: '' }
  const request = { at: seconds * 1e6 + Number(micros), ttl: 2000, id: hub, task: 'once:1.0', args, result_queue: list }
  await stage.redis.rpush('pshub:{q}:calls', JSON.stringify({ ...request, ...extra }))
  await stage.redis.rpush('pshub:{q}:bell', '1')
  await stage.redis.ltrim('pshub:{q}:bell', 0, 0)
  const look = async () => (await stage.redis.llen(list)) > 0
  const answered = await stage.until(look, 2500)
  const reply = JSON.parse((await stage.redis.lpop(list)) ?? '{}')
  if (!answered || reply.ok !== true || reply.result.token !== token) {
    stage.found.push({ invariant: 'class', what: `an old request was answered ${JSON.stringify(reply)}`, token })
  }
}

export const callerRows = [
  {
    id: 'F42',
    title: 'callers killed while they wait',
    load: { perSecond: 150, ms: [5, 50] },
    faultMs: 10_000,
    callers: 3,
    inject: stage =>
      stage.repeat(50, async () => {
        await stage.kill(stage.callers[0])
        const caller = await stage.addCaller()
        await caller.order('load', { perSecond: 50 })
      }),
    // Redis hears of a dead caller at once, and its connections do not come back; new ones are counted here.
    expect: { promised: 'all', reconnectsPerSecond: 20 },
  },
  {
    id: 'F44',
    title: 'clocks that are 10 minutes off, and one that jumps back by 5',
    faultMs: 6000,
    afterMs: 4000,
    async inject(stage) {
      // One after the other: six starts at once leave the workers that serve no turn, so that a list stands and calls are refused.
      for (const [ms, afterMs] of [[10 * minutes], [-10 * minutes], [-5 * minutes, 2000]]) {
        await stage.addWorker(shifted(ms, afterMs))
        await stage.addCaller(shifted(ms, afterMs))
      }
      await stage.load({ perSecond: 150 })
    },
    expect: { promised: 'all' },
  },
  {
    id: 'F44-redis',
    title: "Redis' clock set forward beyond the lease, four times",
    hasFakeClock: true,
    needs: ensureFaketime,
    load: { timeoutMs: 8000, perSecond: 60 },
    workers: 1,
    warmMs: 0,
    faultMs: 500,
    longestMs: 30_000,
    async inject(stage) {
      // One after the other, so that they beat at different times: those that did first see the leases of the others as ended.
      for (let i = 0; i < 3; i++) await stage.addWorker()
      // The worker that beats first after a step is the one that shows a bug; where several beat at one moment, nobody does.
      for (const aheadMs of [20_000, 60_000, 120_000, 200_000]) {
        await startLongCalls(
          stage,
          times(8, { idempotent: false, ms: 4000, timeoutMs: 120_000, act: { do: 'running' } }),
        )
        await stage.setClock(aheadMs)
        await sleep(4500)
      }
    },
    // What waited longer than its deadline, by Redis, is not run.
    expect: { allowed: waited, isRight: ({ act, code }) => (act ? code === 'OK' : undefined) },
  },
  {
    id: 'F44-back',
    title: "Redis' clock set back by an hour right behind the death of a worker",
    hasFakeClock: true,
    needs: ensureFaketime,
    // Of what is pushed while the clock is set nobody can tell afterwards by which clock that was.
    load: { perSecond: 0.01 },
    workers: 2,
    faultMs: 500,
    longestMs: 60_000,
    async inject(stage) {
      await startLongCalls(stage, times(4, { idempotent: true, ms: 1000, timeoutMs: 120_000, act: { do: 'running' } }))
      await stage.kill(stage.workers[0])
      await stage.setClock(-60 * minutes)
      // A lease that was set before the step ends up to half a minute later than it would have.
      const isLeft = async () => (await stage.redis.zcard('pshub:{q}:leases')) > 1
      await stage.until(async () => !(await isLeft()), 50_000)
      if (await isLeft()) stage.found.push({ invariant: 'stage', what: 'nobody adopted from the dead worker' })
      // It is put right; keys with an end of life have one again.
      await stage.setClock(0)
      // The step forward has ended all leases, until the next beats.
      await sleep(2000)
      await stage.load({ perSecond: 60 })
    },
    expect: { detectMs: 45_000, isRight: ({ act, code }) => (act ? code === 'OK' : undefined) },
  },
  {
    id: 'F47',
    title: 'requests of an older and of a newer version',
    load: { perSecond: 100 },
    inject(stage) {
      stage.repeat(20, () => oldRequest(stage, {}))
      stage.repeat(20, () => oldRequest(stage, { id: undefined, at: undefined, ttl: undefined, id_: 1 }))
      stage.repeat(20, () => oldRequest(stage, { priority: 3, from: 'newer', later: { nested: [] } }))
    },
    expect: { promised: 'all' },
  },
]
