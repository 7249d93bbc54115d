// How late jobs are that are due while very many others wait for their time, and how long any step of ours keeps Redis from others.
import { join } from 'node:path'
import { quantile } from '../../kit/numbers.mjs'
import { LineMember } from '../members.mjs'
import { openServer } from '../server.mjs'
import { longestSteps, shownSteps } from '../steps.mjs'

const hourMs = 3600 * 1000
/** As many as one call of enqueueMany() takes. */
const perCall = 100_000
/** Jobs that are due one by one, at random moments of so long. */
const lone = 2000
const loneMs = 20_000
/** Jobs that are due at the same moment. */
const atOnce = 10_000

const { Hub } = await import('../../../dist/index.js')

export const scheduled = async ({ waiting }) => {
  const server = await openServer()
  const { redis } = server
  await redis.config('SET', 'slowlog-log-slower-than', 500)
  await redis.config('SET', 'slowlog-max-len', 1000)
  const hub = new Hub({ redis: server.url, logLevel: 'silent' })
  const before = await server.memory()
  const fillStarted = performance.now()
  let payload = 0
  for (let from = 0; from < waiting; from += perCall) {
    const part = Array.from({ length: Math.min(perCall, waiting - from) }, (_, n) => {
      payload += `{"n":${from + n}}`.length
      return ['waits:1.0', { n: from + n }, { delayMs: hourMs + (((from + n) * 7919) % hourMs) }]
    })
    await hub.enqueueMany(part, { queue: 'bench' })
  }
  const perSecond = waiting / ((performance.now() - fillStarted) / 1000)
  const bytes = ((await server.memory()) - before - payload) / waiting
  const filling = await longestSteps(redis)

  const worker = new LineMember(process.execPath, [join(import.meta.dirname, '../lateness.mjs'), server.url])
  await worker.next()
  const latenesses = async moments => {
    await hub.enqueueMany(
      moments.map(at => ['due:1.0', { at, group: moments.length }, { at }]),
      { queue: 'bench' },
    )
    const { late } = await worker.next()
    const [p50, p99, most] = [0.5, 0.99, 1].map(q => quantile(late, q))
    return { p50, p99, most, found: await longestSteps(redis) }
  }
  const soon = Date.now() + 2000
  const one = await latenesses(Array.from({ length: lone }, () => soon + Math.floor(Math.random() * loneMs)))
  const moment = Date.now() + 2000
  const burst = await latenesses(Array(atOnce).fill(moment))
  await worker.stop()
  await hub.close()
  await server.stop()
  const row = (what, { p50, p99, most, found }) => ({
    what,
    'late p50 ms': p50,
    'late p99 ms': p99,
    'late most ms': most,
    'longest steps in Redis': shownSteps(found),
  })
  return {
    title: `scheduled: ${waiting} jobs wait for their time, 64 idle slots`,
    rows: [
      row(`${lone} jobs, each at a moment of its own within ${loneMs / 1000} s`, one),
      row(`${atOnce} jobs at the same moment`, burst),
    ],
    notes: [
      `${Math.round(bytes)} bytes per job that waits for its time, beside its arguments; enqueued at ${Math.round(perSecond)}/s; longest steps: ${shownSteps(filling)}`,
      'late: from the moment that was asked for until the handler starts, in whole ms. Steps: SLOWLOG, as long as Redis took by the clock, whatever else the machine did.',
    ],
  }
}
