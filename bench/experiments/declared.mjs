import { median } from '../kit/numbers.mjs'
import { interleaved, Pair } from '../kit/pair.mjs'

export const name = 'declared'
export const title = 'pshub by the number of tasks its worker declares, 64 calls in flight'

const counts = [1, 10, 100, 1000]

export const run = async ({ rounds, ms }) => {
  const pairs = []
  try {
    for (const count of counts) pairs.push(await Pair.start('pshub', { worker: { tasks: count - 1 } }))
    for (const pair of pairs) await pair.load(64, 1000)
    const samples = await interleaved(pairs, rounds, async pair => ({
      count: counts[pairs.indexOf(pair)],
      ...(await pair.load(64, ms)),
    }))
    const rows = counts.map(count => {
      const own = samples.filter(sample => sample.count === count)
      const middle = field => median(own.map(sample => sample[field])) ?? 0
      return {
        tasks: count,
        'calls/s': Math.round(middle('callsPerSecond')),
        'p50 us': Math.round(middle('p50Us')),
        'CPU us/call, all processes': Math.round(middle('callerCpuUs') + middle('workerCpuUs') + middle('serverCpuUs')),
      }
    })
    return { rows, samples }
  } finally {
    for (const pair of pairs) await pair.stop()
  }
}
