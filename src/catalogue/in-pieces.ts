import { monotonicMs } from '../wire/clock.ts'

/** What takes longer holds up all else that this process does. */
const pieceMs = 10
const sortedAtOnce = 2000

/** Await the returned function wherever long work may be interrupted: after a while it lets other work run. */
export const makePauses = (): (() => Promise<void>) => {
  let since = monotonicMs()
  return async () => {
    if (monotonicMs() - since < pieceMs) return
    await new Promise(resolve => setImmediate(resolve))
    since = monotonicMs()
  }
}

/** As `toSorted`, of any number; what is equal keeps its order. */
export const sortedInPieces = async <T>(all: readonly T[], order: (a: T, b: T) => number): Promise<T[]> => {
  const pause = makePauses()
  let runs: T[][] = []
  for (let from = 0; from < all.length; from += sortedAtOnce) {
    runs.push(all.slice(from, from + sortedAtOnce).sort(order))
    await pause()
  }
  while (runs.length > 1) {
    const merged: T[][] = []
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(await mergedOf(runs[at]!, runs[at + 1] ?? [], order, pause))
    }
    runs = merged
  }
  return runs[0] ?? []
}

const mergedOf = async <T>(
  left: readonly T[],
  right: readonly T[],
  order: (a: T, b: T) => number,
  pause: () => Promise<void>,
): Promise<T[]> => {
  const merged: T[] = []
  let [l, r] = [0, 0]
  while (l < left.length && r < right.length) {
    merged.push(order(left[l]!, right[r]!) <= 0 ? left[l++]! : right[r++]!)
    if (merged.length % sortedAtOnce === 0) await pause()
  }
  return merged.concat(left.slice(l), right.slice(r))
}
