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
 * A controller that also fires when one of `signals` does, until it is released. AbortSignal.any leaves something behind with each of
 * them for as long as that lives, and Node 20 collects a timeout that only it knows of.
 */
export const following = (
  ...signals: (AbortSignal | undefined)[]
): { controller: AbortController; release: () => void } => {
  const controller = new AbortController()
  const release = () => {
    for (const signal of signals) signal?.removeEventListener('abort', onEnd)
  }
  const onEnd = ({ target }: Event) => {
    release()
    controller.abort((target as AbortSignal).reason)
  }
  const fired = signals.find(signal => signal?.aborted)
  if (fired) controller.abort(fired.reason)
  else for (const signal of signals) if (signal) onAbort(signal, onEnd)
  return { controller, release }
}

/** A signal that fires after `ms`, or when one of `others` does. */
export const signalAfter = (ms: number, ...others: AbortSignal[]): AbortSignal => {
  const { controller, release } = following(...others)
  const end = () => {
    release()
    controller.abort()
  }
  setTimeout(end, Math.min(ms, 0x7fff_ffff)).unref()
  return controller.signal
}

/** Waits for `work`, but not longer than `ms` or until the signal fires. Leaves no timer behind. */
export const within = async (work: Promise<unknown>, ms: number, signal?: AbortSignal): Promise<void> => {
  const { controller, release } = following(signal)
  await Promise.race([work.catch(() => undefined), sleep(ms, controller.signal)])
  release()
  controller.abort()
}
