/** Those of `known` that look most like `wanted`, best first, at most `most`. Versions of tasks do not count. */
export const nearNames = (wanted: string, known: Iterable<string>, most = 3): string[] => {
  const name = nameOf(wanted)
  return [...known]
    .map(full => ({ full, distance: distanceOf(name, nameOf(full)) }))
    .filter(({ distance }) => distance <= Math.max(2, name.length / 3))
    .sort((a, b) => a.distance - b.distance || (a.full < b.full ? -1 : 1))
    .slice(0, most)
    .map(({ full }) => full)
}

/** Cut, because names in Redis may be of any length. */
const nameOf = (full: string): string => full.split(':')[0]!.slice(0, 100).toLowerCase()

const distanceOf = (a: string, b: string): number => {
  if (a === b) return 0
  if (a !== '' && b !== '' && (a.includes(b) || b.includes(a))) return 1
  return editDistance(a, b)
}

/** Levenshtein distance by the usual two-row dynamic programme. */
const editDistance = (a: string, b: string): number => {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const here = [row]
    for (let column = 1; column <= b.length; column++) {
      const change = above[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1)
      here.push(Math.min(change, above[column]! + 1, here[column - 1]! + 1))
    }
    above = here
  }
  return above[b.length]!
}
