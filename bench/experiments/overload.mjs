import { measureOverload, overloadRow } from '../overload/measure.mjs'

export const name = 'overload'
export const title = 'Goodput by load: a task of 20 ms in 8 slots, a deadline of 1 s'

const loads = [0.5, 0.8, 1, 1.5, 2, 3, 5, 10]

export const run = async ({ names }) => {
  const results = []
  for (const load of loads) {
    for (const system of ['pshub', 'bullmq'].filter(each => names.includes(each)))
      results.push(await measureOverload(system, load, { seconds: 8, slots: 8 }))
  }
  return { rows: results.map(overloadRow), results }
}
