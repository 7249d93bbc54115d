import { AsyncResource } from 'node:async_hooks'

/** Made when this file is loaded, so it carries the context of no caller. */
const nobody = new AsyncResource('pshub')

/**
 * Runs `act` outside the context of whoever calls now (AsyncLocalStorage, spans). Loops, timers and connections serve everybody: begun inside
 * the first call that needs them, they would show its store to all later callbacks, and keep it alive.
 */
export const detached = <T>(act: () => T): T => nobody.runInAsyncScope(act)

/** What waits: Node's own, but in tests that move the clock. Whatever else in here waits for a time does it with these. */
export interface Timers {
  set(run: () => void, ms: number): NodeJS.Timeout
  clear(timer: NodeJS.Timeout | undefined): void
}

// Looked up with each call: frameworks for tests put others in their place.
const ofNode: Timers = {
  set: (run, ms) => globalThis.setTimeout(run, ms),
  clear: timer => globalThis.clearTimeout(timer),
}
let timers = ofNode

/** Others take their place, Node's own again without any: pshub/testing alone does it. */
export const useTimers = (others: Timers = ofNode): void => {
  timers = others
}

/** In no caller's context, like all that waits here. */
export const setTimeout = (run: () => void, ms: number): NodeJS.Timeout => detached(() => timers.set(run, ms))
export const clearTimeout = (timer: NodeJS.Timeout | undefined): void => timers.clear(timer)
/** Node's own also in tests that move the clock: it is for what watches the process itself. */
export const setInterval = (run: () => void, ms: number): NodeJS.Timeout =>
  detached(() => globalThis.setInterval(run, ms))
