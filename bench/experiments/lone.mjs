import { interleaved, Pair } from '../kit/pair.mjs'
import { rowsOf } from './web-tier.mjs'

export const name = 'lone'
export const title = 'One call in flight, in fresh processes: after 500 calls, and after 5 s'

const firstCalls = 500
const restMs = 5000

const once = async (system, { ms, slots }) => {
  const pair = await Pair.start(system, { slots })
  try {
    await pair.load(1, 60_000, firstCalls)
    const early = await pair.load(1, ms)
    await pair.load(1, restMs)
    const late = await pair.load(1, ms)
    return [
      { phase: 'after 500 calls', ...early },
      { phase: 'after 5 s', ...late },
    ]
  } finally {
    await pair.stop()
  }
}

export const run = async ({ names, rounds, ms, slots }) => {
  const samples = await interleaved(names, rounds, system => once(system, { ms, slots }))
  return { rows: rowsOf(samples, names), samples }
}
