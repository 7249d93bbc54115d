/** How often times between two edges came; the lower one belongs to it. */
export interface Bin {
  fromMs: number
  toMs: number
  count: number
}

const mostBins = 12
/** From here on, steps that grow show more than equal ones, of which most would be empty. */
const wideRatio = 12

/** How times in milliseconds spread, from the fastest to the slowest without a gap; empty for none. Edges are round numbers. */
export const histogramOf = (timesMs: readonly number[]): Bin[] => {
  if (timesMs.length === 0) return []
  const least = Math.max(0.001, Math.min(...timesMs))
  const most = Math.max(least, ...timesMs)
  const edges = most / least > wideRatio ? growingEdges(least, most) : equalEdges(least, most)
  return edges.slice(0, -1).map((fromMs, at) => {
    const toMs = edges[at + 1]!
    const isFirst = at === 0
    return { fromMs, toMs, count: timesMs.filter(ms => (isFirst || ms >= fromMs) && ms < toMs).length }
  })
}

/** 1, 2 and 5 of each power of ten, around both ends. */
const growingEdges = (least: number, most: number): number[] => {
  const all: number[] = []
  for (let power = Math.floor(Math.log10(least)); all.length < 100; power++)
    for (const digit of [1, 2, 5]) {
      all.push(rounded(digit * 10 ** power))
      if (all.at(-1)! > most) return all.slice(Math.max(0, all.findIndex(edge => edge > least) - 1))
    }
  return all
}

const equalEdges = (least: number, most: number): number[] => {
  const step = roundStep(Math.max((most - least) / (mostBins - 2), least / 10))
  const edges = [rounded(Math.floor(least / step) * step)]
  while (edges.at(-1)! <= most) edges.push(rounded(edges[0]! + edges.length * step))
  return edges
}

/** The next of 1, 2 and 5 times a power of ten. */
const roundStep = (wanted: number): number => {
  const power = 10 ** Math.floor(Math.log10(wanted))
  return power * [1, 2, 5, 10].find(digit => digit * power >= wanted * 0.999)!
}

/** Without the last digits of sums of fractions. */
const rounded = (value: number): number => Number(value.toPrecision(10))
