// Whether what is measured again and again stays level.

const mean = values => values.reduce((sum, value) => sum + value, 0) / values.length

/** What each measure may grow by between the second fifth and the last one: in parts of what it was, and beside that. */
const allowances = {
  'heap, MB': [0.1, 3],
  'resident, MB': [0.15, 15],
  handles: [0, 2],
  'keys in Redis': [0, 5],
  'memory of Redis, MB': [0.1, 1],
}

/**
 * @param {Record<string, number>[]} samples of one process or server, in the order in which they were taken; the first fifth,
 *   in which everything warms up, is left out
 * @returns {{ measure: string, before: number, after: number, isLevel: boolean }[]}
 */
export const judge = samples => {
  const fifth = Math.floor(samples.length / 5)
  if (fifth === 0) throw new Error('Five samples are needed at least.')
  return Object.keys(samples[0]).map(measure => {
    const [parts, more] = allowances[measure]
    const of = list => mean(list.map(sample => sample[measure]))
    const [before, after] = [of(samples.slice(fifth, 2 * fifth)), of(samples.slice(-fifth))]
    return { measure, before, after, isLevel: after <= before * (1 + parts) + more }
  })
}
