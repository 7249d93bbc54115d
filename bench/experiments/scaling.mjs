import { cpus } from 'node:os'
import { median } from '../kit/numbers.mjs'
import { Pair } from '../kit/pair.mjs'

export const name = 'scaling'
export const title = `pshub with more processes, on ${cpus().length} cores: 256 calls in flight for more workers, 64 per caller for more callers`

const shapes = [
  ...[1, 2, 4, 8].map(workers => ({ callers: 1, workers, inFlight: 256 })),
  ...[1, 2, 8, 50].map(callers => ({ callers, workers: 1, inFlight: 64 * callers })),
]

/** Processes that share the cores are that much longer about the calls after which their code is compiled. */
const warmUpMs = ({ callers, workers }) => 1000 * Math.ceil(Math.max(callers, workers) / 4)

export const run = async ({ rounds, ms }) => {
  const rows = []
  for (const shape of shapes) {
    const { callers, workers, inFlight } = shape
    const pair = await Pair.start('pshub', { callers, workers })
    try {
      await pair.load(inFlight, warmUpMs(shape))
      const samples = []
      for (let round = 0; round < rounds; round++) samples.push(await pair.load(inFlight, ms))
      const middle = field => median(samples.map(sample => sample[field]))
      const [caller, worker, server] = ['callerCpuUs', 'workerCpuUs', 'serverCpuUs'].map(middle)
      rows.push({
        callers,
        workers,
        'in flight': inFlight,
        'calls/s': Math.round(middle('callsPerSecond')),
        'p50 us': Math.round(middle('p50Us')),
        'CPU us/call: callers': Math.round(caller),
        'workers ': Math.round(worker),
        Redis: server === undefined ? '-' : Math.round(server),
        'all together': Math.round(caller + worker + (server ?? 0)),
      })
    } finally {
      await pair.stop()
    }
  }
  return { rows }
}
