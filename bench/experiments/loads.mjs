import { median, range } from '../kit/numbers.mjs'
import { interleaved, Pair } from '../kit/pair.mjs'
import { systems } from '../systems/index.mjs'

export const name = 'loads'
export const title = 'Calls per second and waits by calls in flight'

/** Connections, hidden classes and caches are what they will be after so long. */
const warmUp = { inFlight: 64, ms: 1000 }

/** Not measured: processes that rested while the others were measured have lost their caches, and pages of memory too. */
const leadMs = 300

/** @returns rows of medians over the rounds, and all samples */
export const run = async ({ names, inFlight, rounds, ms, slots, profileDir }) => {
  const pairs = []
  try {
    for (const system of names) pairs.push(await Pair.start(system, { slots, profileDir }))
    for (const pair of pairs) await pair.load(warmUp.inFlight, warmUp.ms)
    const samples = []
    for (const count of inFlight) {
      for (const pair of pairs) await pair.load(count, warmUp.ms)
      const measure = async pair => {
        await pair.load(count, leadMs)
        return pair.load(count, ms)
      }
      samples.push(...(await interleaved(pairs, rounds, measure)))
    }
    return { rows: rowsOf(samples, names, inFlight), samples }
  } finally {
    for (const pair of pairs) await pair.stop()
  }
}

const rowsOf = (samples, names, inFlight) =>
  inFlight.flatMap(count => {
    const of = system => samples.filter(sample => sample.system === system && sample.inFlight === count)
    const middle = (system, field) => median(of(system).map(sample => sample[field]))
    // The machine's speed changes by half within a minute: compared is what was measured in the same round.
    const ratio = (system, field) =>
      names.includes('pshub')
        ? median(of('pshub').map((own, round) => own[field] / of(system)[round][field])).toFixed(2)
        : '-'
    return names.map(system => {
      const own = of(system)
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
        'pshub: x calls/s': ratio(system, 'callsPerSecond'),
        'x p50': ratio(system, 'p50Us'),
      }
    })
  })

const rounded = value => (value === undefined ? '-' : Math.round(value))
