/** Milliseconds that never jump, for every deadline and duration inside this process. */
export const monotonicMs = (): number => performance.now()

/**
 * Waits for `work`, but not longer than `ms` or until the signal fires: undefined then, and when it fails. Never rejects, and
 * leaves neither timer nor listener behind. Longer than a timer can hold is cut to 24 days.
 */
export const within = <T>(work: Promise<T>, ms: number, signal?: AbortSignal): Promise<T | undefined> =>
  new Promise(resolve => {
    const done = (value?: T) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', giveUp)
      resolve(value)
    }
    const giveUp = () => done()
    const timer = setTimeout(giveUp, Math.min(ms, 0x7fff_ffff))
    work.then(done, giveUp)
    if (signal?.aborted) giveUp()
    else signal?.addEventListener('abort', giveUp)
  })

/** Resolves after `ms`, or at once when the signal fires; never rejects. */
export const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  within(new Promise<void>(() => undefined), ms, signal)

/**
 * Wait before attempt n (0, 1, 2 ...): doubles from `firstMs` to `maxMs`, each spread over half to all of it, so that
 * many processes do not come back in step after an outage.
 */
export const backoffMs = (attempt: number, firstMs = 50, maxMs = 1000): number => {
  const full = Math.min(maxMs, firstMs * 2 ** Math.min(attempt, 20))
  return full / 2 + (full / 2) * Math.random()
}

/**
 * A signal that fires after `ms`, or when one of `others` does. For AbortSignal.any([AbortSignal.timeout(ms), ...]), in
 * which nothing holds the timeout: Node 20 collects it as garbage, and then it never fires. Here its timer holds it.
 */
export const signalAfter = (ms: number, ...others: AbortSignal[]): AbortSignal => {
  const timeout = new AbortController()
  setTimeout(() => timeout.abort(), Math.min(ms, 0x7fff_ffff)).unref()
  return AbortSignal.any([timeout.signal, ...others])
}
