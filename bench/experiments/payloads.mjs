import { Redis } from 'ioredis'
import { median } from '../kit/numbers.mjs'
import { interleaved, Pair } from '../kit/pair.mjs'
import { systems } from '../systems/index.mjs'

export const name = 'payloads'
export const title = 'Payloads: arguments and result of so many bytes, 16 calls in flight'

const sizes = { '100 B': 100, '10 kB': 10_000, '100 kB': 100_000, '1 MB': 1_000_000 }

/** Redis counts the steps of others in it: what one command keeps all of them waiting for. */
const longestStep = async url => {
  const redis = new Redis(url)
  const entries = await redis.slowlog('GET', -1)
  redis.disconnect()
  return entries.reduce((most, [, , micros]) => Math.max(most, micros), 0)
}

const watchSteps = async url => {
  const redis = new Redis(url)
  await redis.config('SET', 'slowlog-log-slower-than', '300', 'slowlog-max-len', '100000')
  await redis.slowlog('RESET')
  redis.disconnect()
}

export const run = async ({ names, rounds, ms }) => {
  const rows = []
  const samples = []
  for (const [label, bytes] of Object.entries(sizes)) {
    const pairs = []
    try {
      for (const system of names) pairs.push(await Pair.start(system, { bytes }))
      for (const pair of pairs) await pair.load(16, 500)
      const overRedis = pairs.filter(({ system }) => systems[system].between === 'redis')
      for (const { server } of overRedis) await watchSteps(server.url)
      const own = await interleaved(pairs, rounds, pair => pair.load(16, ms))
      samples.push(...own.map(sample => ({ bytes, ...sample })))
      const middle = (system, field) =>
        median(own.filter(sample => sample.system === system).map(sample => sample[field]))
      const of = system => own.filter(sample => sample.system === system)
      const ratio = system =>
        names.includes('pshub')
          ? median(of('pshub').map((each, round) => each.callsPerSecond / of(system)[round].callsPerSecond)).toFixed(2)
          : '-'
      for (const { system, server } of pairs) {
        const isRedis = systems[system].between === 'redis'
        rows.push({
          payload: label,
          system: systems[system].title,
          'calls/s': Math.round(middle(system, 'callsPerSecond')),
          'p50 ms': (middle(system, 'p50Us') / 1000).toFixed(2),
          'p99 ms': (middle(system, 'p99Us') / 1000).toFixed(2),
          'longest step in Redis, ms': isRedis ? ((await longestStep(server.url)) / 1000).toFixed(1) : '-',
          'pshub: x calls/s': ratio(system),
        })
      }
    } finally {
      for (const pair of pairs) await pair.stop()
    }
  }
  return { rows, samples }
}
