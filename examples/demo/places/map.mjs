// The world as its cities draw it: how many of them lie in each cell of a grid.
import { cities } from './cities.mjs'

/** @param {number} cellDegrees side of a cell */
export const density = cellDegrees => {
  const cells = new Map()
  for (const { latitude, longitude } of cities) {
    const column = Math.floor((longitude + 180) / cellDegrees)
    const row = Math.floor((90 - latitude) / cellDegrees)
    const key = row * 1000 + column
    cells.set(key, (cells.get(key) ?? 0) + 1)
  }
  return [...cells].map(([key, count]) => [key % 1000, Math.floor(key / 1000), count])
}
