import { cpus } from 'node:os'
import { median } from '../kit/numbers.mjs'
import { Pair } from '../kit/pair.mjs'

export const name = 'scaling'
export const title = `pshub with more processes, 256 calls in flight altogether, on ${cpus().length} cores`

const shapes = [
  { callers: 1, workers: 1 },
  { callers: 1, workers: 2 },
  { callers: 1, workers: 4 },
  { callers: 1, workers: 8 },
  { callers: 2, workers: 1 },
  { callers: 8, workers: 1 },
  { callers: 50, workers: 1 },
]

export const run = async ({ rounds, ms }) => {
  const rows = []
  for (const shape of shapes) {
    const pair = await Pair.start('pshub', shape)
    try {
      await pair.load(256, 1000)
      const samples = []
      for (let round = 0; round < rounds; round++) samples.push(await pair.load(256, ms))
      const middle = field => median(samples.map(sample => sample[field]))
      const [caller, worker, server] = ['callerCpuUs', 'workerCpuUs', 'serverCpuUs'].map(middle)
      rows.push({
        callers: shape.callers,
        workers: shape.workers,
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
