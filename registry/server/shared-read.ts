/** Reads for all who ask within `maxAgeMs` of each other, once for all of them. What fails is not kept. */
export const sharedRead = <T>(read: () => Promise<T>, maxAgeMs: number): (() => Promise<T>) => {
  let last: Promise<T> | undefined
  let readAt = Number.NEGATIVE_INFINITY
  return () => {
    const now = performance.now()
    if (last && now - readAt <= maxAgeMs) return last
    readAt = now
    const mine = read()
    last = mine
    mine.catch(() => {
      if (last === mine) last = undefined
    })
    return mine
  }
}
