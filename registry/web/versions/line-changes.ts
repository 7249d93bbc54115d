/** Two texts line by line: what stands beside each other, and what is only on one side. */
export interface LinePair {
  before: string | undefined
  after: string | undefined
}

/** Beyond it (lines of one side times lines of the other) what differs is shown as changed as a whole. */
const maxCells = 1_500_000

/** The two texts aligned by their longest common subsequence; lines changed in the same place share a row. */
export const alignLines = (before: readonly string[], after: readonly string[]): LinePair[] => {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start++
  let end = 0
  const most = Math.min(before.length, after.length) - start
  while (end < most && before[before.length - 1 - end] === after[after.length - 1 - end]) end++
  const same = (line: string): LinePair => ({ before: line, after: line })
  return [
    ...before.slice(0, start).map(same),
    ...alignMiddle(before.slice(start, before.length - end), after.slice(start, after.length - end)),
    ...before.slice(before.length - end).map(same),
  ]
}

const alignMiddle = (before: readonly string[], after: readonly string[]): LinePair[] => {
  if (before.length * after.length > maxCells) return beside(before, after)
  const common = commonLengths(before, after)
  const pairs: LinePair[] = []
  let gone: string[] = []
  let added: string[] = []
  let [i, j] = [0, 0]
  const flush = () => {
    pairs.push(...beside(gone, added))
    gone = []
    added = []
  }
  while (i < before.length || j < after.length) {
    if (i < before.length && j < after.length && before[i] === after[j]) {
      flush()
      pairs.push({ before: before[i++], after: after[j++] })
    } else if (j >= after.length || (i < before.length && common[i + 1]![j]! >= common[i]![j + 1]!)) {
      gone.push(before[i++]!)
    } else {
      added.push(after[j++]!)
    }
  }
  flush()
  return pairs
}

/** For each pair of ends, how many lines they have in common in order. */
const commonLengths = (before: readonly string[], after: readonly string[]): Uint32Array[] => {
  const common = Array.from({ length: before.length + 1 }, () => new Uint32Array(after.length + 1))
  for (let i = before.length - 1; i >= 0; i--)
    for (let j = after.length - 1; j >= 0; j--)
      common[i]![j] =
        before[i] === after[j] ? common[i + 1]![j + 1]! + 1 : Math.max(common[i + 1]![j]!, common[i]![j + 1]!)
  return common
}

const beside = (gone: readonly string[], added: readonly string[]): LinePair[] =>
  Array.from({ length: Math.max(gone.length, added.length) }, (_, at) => ({ before: gone[at], after: added[at] }))
