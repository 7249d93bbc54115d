import { median, range } from '../kit/numbers.mjs'
import { interleaved, Pair } from '../kit/pair.mjs'
import { systems } from '../systems/index.mjs'

export const name = 'loads'
export const title = 'Calls per second and waits by calls in flight'

/** Connections, hidden classes and caches are what they will be after so long. */
const warmUp = { inFlight: 64, ms: 1000 }

/** @returns rows of medians over the rounds, and all samples */
export const run = async ({ names, inFlight, rounds, ms, slots, profileDir }) => {
  const pairs = []
  try {
    for (const system of names) pairs.push(await Pair.start(system, { slots, profileDir }))
    for (const pair of pairs) await pair.load(warmUp.inFlight, warmUp.ms)
    const samples = []
    for (const count of inFlight) {
      for (const pair of pairs) await pair.load(count, warmUp.ms)
      samples.push(...(await interleaved(pairs, rounds, pair => pair.load(count, ms))))
    }
    return { rows: rowsOf(samples, names, inFlight), samples }
  } finally {
    for (const pair of pairs) await pair.stop()
  }
}

const rowsOf = (samples, names, inFlight) =>
  inFlight.flatMap(count => {
    const middle = (system, field) =>
      median(
        samples.filter(sample => sample.system === system && sample.inFlight === count).map(sample => sample[field]),
      )
    const pshub = { calls: middle('pshub', 'callsPerSecond'), p50: middle('pshub', 'p50Us') }
    return names.map(system => {
      const own = samples.filter(sample => sample.system === system && sample.inFlight === count)
      const [least, most] = range(own.map(({ callsPerSecond }) => callsPerSecond))
      return {
        'in flight': count,
        system: systems[system].title,
        'calls/s': Math.round(middle(system, 'callsPerSecond')),
        'min..max': `${Math.round(least)}..${Math.round(most)}`,
        'p50 us': Math.round(middle(system, 'p50Us')),
        'p99 us': Math.round(middle(system, 'p99Us')),
        'p99.9 us': Math.round(middle(system, 'p999Us')),
        lost: own.reduce((sum, sample) => sum + sample.lost, 0),
        'CPU us/call: caller': rounded(middle(system, 'callerCpuUs')),
        worker: rounded(middle(system, 'workerCpuUs')),
        server: rounded(middle(system, 'serverCpuUs')),
        'pshub: x calls/s': ratio(pshub.calls, middle(system, 'callsPerSecond')),
        'x p50': ratio(pshub.p50, middle(system, 'p50Us')),
      }
    })
  })

const rounded = value => (value === undefined ? '-' : Math.round(value))
const ratio = (a, b) => (a === undefined || b === undefined ? '-' : (a / b).toFixed(2))
