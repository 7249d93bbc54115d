import { setMaxListeners } from 'node:events'
import { clearTimeout, setTimeout } from './timers.ts'

/** How far the clocks of a test have been moved on, milliseconds; 0 everywhere else. */
let aheadMs = 0

/** Moves this process's clocks on: pshub/testing alone does it, with its timers, and with its Redis. */
export const moveClocks = (ms: number): void => {
  aheadMs += ms
}

/** For whoever measures this process, and not what it does: how much of the time that passed was none. */
export const clocksAheadMs = (): number => aheadMs

/** Milliseconds that never jump, for every deadline and duration inside this process. */
export const monotonicMs = (): number => performance.now() + aheadMs

/** What is between the two clocks while a test moves them; undefined everywhere else, where the date may be set. */
let wallOffsetMs: number | undefined

/** From now on the date goes on as the monotonic clock does, or is that of the machine again: pshub/testing alone does it. */
export const tieDate = (isTied: boolean): void => {
  wallOffsetMs = isTied ? Date.now() - monotonicMs() : undefined
}

/** Milliseconds since 1970 as this process knows them, for times that somebody names. */
export const wallMs = (): number => (wallOffsetMs === undefined ? Date.now() : wallOffsetMs + monotonicMs())

/** Longest time of a call, and of a run: a day. */
export const maxTimeoutMs = 24 * 3600 * 1000

/**
 * Calls `listener` once when the signal fires. One signal may stand for any number of calls, waits and queues: Node takes more than
 * ten listeners for a leak, and says so on stderr.
 */
export const onAbort = (signal: AbortSignal, listener: Parameters<AbortSignal['addEventListener']>[1]): void => {
  setMaxListeners(0, signal)
  signal.addEventListener('abort', listener, { once: true })
}

/** Resolves after `ms`, or at once when the signal fires; never rejects. Longer than a timer can hold is cut to 24 days. */
export const sleep = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal?.aborted) return resolve()
    const done = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, Math.min(ms, 0x7fff_ffff))
    if (signal) onAbort(signal, done)
  })

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

/** Waits for `work`, but not longer than `ms` or until the signal fires. Leaves no timer behind. */
export const within = async (work: Promise<unknown>, ms: number, signal?: AbortSignal): Promise<void> => {
  const done = new AbortController()
  const patience = sleep(ms, signal ? AbortSignal.any([done.signal, signal]) : done.signal)
  await Promise.race([work.catch(() => undefined), patience])
  done.abort()
}
