/** Numbers from 0 to 1 that are the same for the same seed (mulberry32), so that a trial can be repeated in intent. */
export const seeded = seed => {
  let state = seed >>> 0
  const random = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  return {
    random,
    between: (low, high) => low + random() * (high - low),
    integer: (low, high) => Math.floor(low + random() * (high - low + 1)),
    chance: share => random() < share,
  }
}

/** A seed for one process of a trial, from the run's seed and a name. */
export const seedOf = (seed, name) => [...name].reduce((sum, letter) => (sum * 31 + letter.charCodeAt(0)) >>> 0, seed)
