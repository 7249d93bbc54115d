// Many bytes on a slow link: what waits is served piece by piece, and not all at once when its deadline is over.
import { ms } from '../harness/invariants.mjs'
import { between } from '../harness/measures.mjs'
import { stalledMs } from '../harness/stalls.mjs'

const calls = 74
const chars = 600_000
const bytesPerSecond = 12e6
/** A claim's worth takes a tenth of a second on this link; what 64 slots can hold takes three. */
const mostMs = 1500

const isHeavy = ({ act }) => act?.do === 'heavy'

export const heavyRows = [
  {
    id: 'F10-heavy',
    title: `${Math.round((calls * chars) / 1e6)} MB waiting on a link of ${bytesPerSecond / 1e6} MB/s`,
    workers: 1,
    workerOptions: { slots: 64 },
    load: { perSecond: 20, timeoutMs: 20_000 },
    warmMs: 1000,
    faultMs: 0,
    afterMs: 2000,
    longestMs: 20_000,
    async inject(stage) {
      // Its file is not what this is about.
      await stage.redis.config('SET', 'appendonly', 'no')
      stage.workerProxy.bytesPerSecond = bytesPerSecond
      await stage.redis.set('pshub:{q}:paused', String(Date.now()))
      await stage.until(async () => (await stage.redis.llen('pshub:{q}:calls')) > 0, 3000)
      const call = { idempotent: false, ms: 5, timeoutMs: 20_000, chars, act: { do: 'heavy' } }
      const made = []
      // So many at a time that none of them waits for long to be sent.
      for (let i = 1; i <= calls; i++) {
        made.push(stage.callers[i % stage.callers.length].order('call', call))
        if (i % 10 === 0) await stage.until(async () => (await stage.redis.llen('pshub:{q}:calls')) > i, 3000)
      }
      stage.journal('mark', { what: 'served' })
      await stage.redis.del('pshub:{q}:paused')
      await Promise.all(made)
    },
    check(stage) {
      const history = stage.history()
      const { calls, marks } = history
      // Redis has known since 'served' that the queue is not paused any more; the worker hears of it with its next beat.
      const from = marks.resumed ?? marks.served
      const runs = [...calls.values()].filter(isHeavy).flatMap(call => call.runs)
      const starts = runs.map(({ at }) => at).filter(at => at >= from)
      const lostMs = (since, until) => stalledMs(history, since, until)
      const longest = between([from, ...starts.sort((a, b) => a - b)], lostMs)
      return longest > mostMs
        ? [{ invariant: 'steady', what: `no call was started for ${Math.round(longest)} ms` }]
        : []
    },
    report({ calls, marks }) {
      const ends = [...calls.values()].filter(isHeavy).map(({ settles: [settle] }) => settle?.t)
      return `the last of ${calls.size} was answered after ${(ms(Math.max(...ends) - marks.served) / 1000).toFixed(1)} s`
    },
    // What waits behind them may not be sent in time.
    expect: { allowed: ['NotEnqueued'] },
  },
]
