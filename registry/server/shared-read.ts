/** Reads for all who ask within `maxAgeMs` of its end or before it ends, once for all of them. What fails is not kept. */
export const sharedRead = <T>(read: () => Promise<T>, maxAgeMs: number): (() => Promise<T>) => {
  let last: Promise<T> | undefined
  // One that takes longer than that is not begun again meanwhile.
  let readAt = Number.POSITIVE_INFINITY
  return () => {
    if (last && performance.now() - readAt <= maxAgeMs) return last
    readAt = Number.POSITIVE_INFINITY
    const mine = read()
    last = mine
    mine.then(
      () => {
        readAt = performance.now()
      },
      () => {
        last = undefined
      },
    )
    return mine
  }
}
