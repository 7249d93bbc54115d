import { median } from '../kit/numbers.mjs'
import { interleaved, Pair } from '../kit/pair.mjs'
import { systems } from '../systems/index.mjs'

export const name = 'web-tier'
export const title =
  'A web tier: 8 caller processes with 4 calls in flight each, 1 worker; fresh processes, and the same after 10 s'

const callers = 8
const inFlight = 4 * callers
const coldMs = 3000
const warmAfterMs = 10_000

/** Fresh processes for each sample: what is cold is so but once. */
const once = async (system, { ms, slots }) => {
  const pair = await Pair.start(system, { callers, slots })
  try {
    const cold = await pair.load(inFlight, coldMs)
    await pair.load(inFlight, warmAfterMs - coldMs)
    const warm = await pair.load(inFlight, ms)
    return [
      { phase: 'cold, first 3 s', ...cold },
      { phase: 'warm, after 10 s', ...warm },
    ]
  } finally {
    await pair.stop()
  }
}

export const run = async ({ names, rounds, ms, slots }) => {
  const samples = await interleaved(names, rounds, system => once(system, { ms, slots }))
  return { rows: rowsOf(samples, names), samples }
}

const cpuOf = sample => sample.callerCpuUs + sample.workerCpuUs + (sample.serverCpuUs ?? 0)

/** One row for each system and phase; ratios are medians of those of each round. */
export const rowsOf = (samples, names) => {
  const phases = [...new Set(samples.map(({ phase }) => phase))]
  return phases.flatMap(phase => {
    const of = system => samples.filter(sample => sample.system === system && sample.phase === phase)
    const middle = (system, value) => median(of(system).map(value))
    const ratio = (system, value) =>
      names.includes('pshub')
        ? median(of('pshub').map((own, round) => value(own) / value(of(system)[round]))).toFixed(2)
        : '-'
    return names.map(system => ({
      phase,
      system: systems[system].title,
      'calls/s': Math.round(middle(system, sample => sample.callsPerSecond)),
      'p50 us': Math.round(middle(system, sample => sample.p50Us)),
      'p99 us': Math.round(middle(system, sample => sample.p99Us)),
      'CPU us/call, all': Math.round(middle(system, cpuOf)),
      callers: Math.round(middle(system, sample => sample.callerCpuUs)),
      worker: Math.round(middle(system, sample => sample.workerCpuUs)),
      server: Math.round(middle(system, sample => sample.serverCpuUs ?? 0)),
      'pshub: x CPU': ratio(system, cpuOf),
      'x p50': ratio(system, sample => sample.p50Us),
      'x p99': ratio(system, sample => sample.p99Us),
    }))
  })
}
