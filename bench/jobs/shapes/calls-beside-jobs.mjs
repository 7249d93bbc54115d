// Waits of calls alone, and while blank jobs drain on the same worker: in turn, so that what else the machine does meets both.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { median, quantile } from '../../kit/numbers.mjs'
import { openServer } from '../server.mjs'

const { Hub } = await import('../../../dist/index.js')

/** A drain shorter than this would leave too few calls for a p99. */
const leastMs = 1500

/** Keeps so many calls in flight until `isOver()`, and returns how long each took, microseconds. */
const callsUntil = async (hub, inFlight, isOver) => {
  const waits = []
  const chain = async () => {
    while (!isOver()) {
      const started = performance.now()
      await hub.call('blank:1.0', { n: 1 })
      waits.push((performance.now() - started) * 1000)
    }
  }
  await Promise.all(Array.from({ length: inFlight }, chain))
  return waits
}

const measure = async (hub, redis, jobs, inFlight) => {
  const aloneEnd = performance.now() + leastMs
  const alone = await callsUntil(hub, inFlight, () => performance.now() > aloneEnd)
  await hub.enqueueMany(
    Array.from({ length: jobs }, (_, n) => ['blank:1.0', { n }]),
    { queue: 'bench' },
  )
  let left = jobs
  const watch = setInterval(async () => {
    left = await redis.llen('pshub:{bench}:jobs')
  }, 20)
  const started = performance.now()
  const beside = await callsUntil(hub, inFlight, () => left === 0)
  clearInterval(watch)
  return { alone, beside, drainMs: performance.now() - started }
}

export const callsBesideJobs = async ({ jobs, rounds }) => {
  const server = await openServer()
  const worker = fork(join(import.meta.dirname, '../serve.mjs'), [server.url], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  await once(worker, 'message')
  const hub = new Hub({ redis: server.url, logLevel: 'silent' })
  const rows = []
  for (const inFlight of [1, 16]) {
    const samples = []
    await callsUntil(hub, inFlight, () => (samples.warm = (samples.warm ?? 0) + 1) > 3000)
    for (let round = 0; round < rounds; round++) samples.push(await measure(hub, server.redis, jobs, inFlight))
    const of = (which, q) => median(samples.map(sample => quantile(sample[which], q)))
    const ratio = q => median(samples.map(({ alone, beside }) => quantile(beside, q) / quantile(alone, q)))
    rows.push({
      'calls in flight': inFlight,
      'alone p50 us': Math.round(of('alone', 0.5)),
      'alone p99 us': Math.round(of('alone', 0.99)),
      'beside p50 us': Math.round(of('beside', 0.5)),
      'beside p99 us': Math.round(of('beside', 0.99)),
      'p50 times': Number(ratio(0.5).toFixed(2)),
      'p99 times': Number(ratio(0.99).toFixed(2)),
      'us/job meanwhile': Number((median(samples.map(({ drainMs }) => drainMs / jobs)) * 1000).toFixed(1)),
    })
  }
  worker.send('end')
  await once(worker, 'exit')
  await hub.close()
  await server.stop()
  return {
    title: `calls-beside-jobs: blank calls alone for ${leastMs} ms, then while ${jobs} blank jobs drain on the same worker of 64 slots, 32 of them for jobs; medians of ${rounds} rounds`,
    rows,
  }
}
