import { setMaxListeners } from 'node:events'

/**
 * Calls `listener` once when the signal fires. One signal may stand for any number of calls, waits and queues: Node takes more than
 * ten listeners for a leak, and says so on stderr.
 */
export const onAbort = (signal: AbortSignal, listener: Parameters<AbortSignal['addEventListener']>[1]): void => {
  setMaxListeners(0, signal)
  signal.addEventListener('abort', listener, { once: true })
}
