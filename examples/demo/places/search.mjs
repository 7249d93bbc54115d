// Search by the beginning of a name: a sorted list of simplified names and a binary search.
import { cities, otherNames } from './cities.mjs'

/** Letters that Unicode does not take apart into a base letter and an accent. */
const whole = { ß: 'ss', ø: 'o', ł: 'l', đ: 'd', ð: 'd', þ: 'th', æ: 'ae', œ: 'oe', ı: 'i', ħ: 'h', ə: 'e' }

/** 'São Paulo' and 'sao  paulo' become one: no accents, no case, no punctuation, single spaces. */
export const simplify = text => {
  const lower = text.toLowerCase()
  if (/^[a-z]*$/.test(lower)) return lower
  return lower
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/[ßøłđðþæœıħə]/g, letter => whole[letter])
    .replace(/[^\p{L}\p{N}]+/gu, ' ')
    .trim()
}

/** @returns {{ name: string, index: number, own: boolean }[]} all the ways to write a city, `own` being the usual one */
const entriesOf = (city, index) => {
  const own = simplify(city.name)
  const others = new Set((otherNames.get(city.id) ?? []).map(simplify))
  others.delete(own)
  others.delete('')
  return [{ name: own, index, own: true }, ...Array.from(others, name => ({ name, index, own: false }))]
}

const entries = cities
  .flatMap(entriesOf)
  .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : a.index - b.index))

const firstAtLeast = wanted => {
  let [low, high] = [0, entries.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if (entries[middle].name < wanted) low = middle + 1
    else high = middle
  }
  return low
}

/** How well a name fits: the whole of it before its beginning, and there the usual name before others. Less is better. */
const rank = ({ name, own }, wanted) => (name === wanted ? 0 : own ? 1 : 2)

const fitsPlace = (city, place) =>
  city.country.toLowerCase() === place ||
  simplify(city.countryName).startsWith(place) ||
  simplify(city.region ?? '').startsWith(place)

/**
 * Whole names first, then the larger city first. What follows a comma narrows by country or region.
 *
 * @param {string} query as in `Paris`, `sao p` or `Springfield, Illinois`
 * @param {number} limit
 */
export const search = (query, limit) => {
  const [namePart, ...placeParts] = query.split(',')
  const wanted = simplify(namePart)
  const place = simplify(placeParts.join(' '))
  if (!wanted) return { matches: 0, cities: [] }
  const ranks = new Map()
  for (let at = firstAtLeast(wanted); at < entries.length && entries[at].name.startsWith(wanted); at++) {
    const { index } = entries[at]
    if (place && !fitsPlace(cities[index], place)) continue
    ranks.set(index, Math.min(rank(entries[at], wanted), ranks.get(index) ?? 2))
  }
  // Cities are kept largest first, so that a lower index is a larger city.
  const best = [...ranks].sort(([a, rankA], [b, rankB]) => rankA - rankB || a - b).slice(0, limit)
  return { matches: ranks.size, cities: best.map(([index]) => cities[index]) }
}
