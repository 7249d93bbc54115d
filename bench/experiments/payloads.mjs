import { median } from '../kit/numbers.mjs'
import { interleaved, Pair } from '../kit/pair.mjs'
import { systems } from '../systems/index.mjs'

export const name = 'payloads'
export const title = 'Payloads: arguments and result of so many bytes, 16 calls in flight'

const sizes = { '100 B': 100, '10 kB': 10_000, '1 MB': 1_000_000 }

export const run = async ({ names, rounds, ms }) => {
  const rows = []
  const samples = []
  for (const [label, bytes] of Object.entries(sizes)) {
    const pairs = []
    try {
      for (const system of names) pairs.push(await Pair.start(system, { bytes }))
      for (const pair of pairs) await pair.load(16, 500)
      const own = await interleaved(pairs, rounds, pair => pair.load(16, ms))
      samples.push(...own.map(sample => ({ bytes, ...sample })))
      const middle = (system, field) =>
        median(own.filter(sample => sample.system === system).map(sample => sample[field]))
      for (const system of names) {
        rows.push({
          payload: label,
          system: systems[system].title,
          'calls/s': Math.round(middle(system, 'callsPerSecond')),
          'p50 ms': (middle(system, 'p50Us') / 1000).toFixed(2),
          'p99 ms': (middle(system, 'p99Us') / 1000).toFixed(2),
          'pshub: x calls/s': (middle('pshub', 'callsPerSecond') / middle(system, 'callsPerSecond')).toFixed(2),
        })
      }
    } finally {
      for (const pair of pairs) await pair.stop()
    }
  }
  return { rows, samples }
}
