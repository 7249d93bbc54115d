/** Those of `known` that look most like `wanted`, best first, at most five. */
export const nearNames = (wanted: string, known: Iterable<string>): string[] => {
  const name = nameOf(wanted)
  const most = Math.max(2, name.length / 3)
  return [...known]
    .map(full => ({ full, distance: distanceOf(name, nameOf(full)) }))
    .filter(({ distance }) => distance <= most)
    .sort((a, b) => a.distance - b.distance || (a.full < b.full ? -1 : 1))
    .slice(0, 5)
    .map(({ full }) => full)
}

const nameOf = (task: string): string => task.split(':')[0]!.slice(0, 100).toLowerCase()

const distanceOf = (a: string, b: string): number => {
  if (a === b) return 0
  if (a !== '' && b !== '' && (a.includes(b) || b.includes(a))) return 1
  return editDistance(a, b)
}

/** Levenshtein. */
const editDistance = (a: string, b: string): number => {
  let above = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row++) {
    const line = [row]
    for (let column = 1; column <= b.length; column++) {
      const changed = above[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1)
      line.push(Math.min(changed, above[column]! + 1, line[column - 1]! + 1))
    }
    above = line
  }
  return above[b.length]!
}
