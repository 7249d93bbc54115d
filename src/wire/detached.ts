import { AsyncResource } from 'node:async_hooks'

/** Made when this file is loaded, so it carries the context of no caller. */
const nobody = new AsyncResource('pshub')

/**
 * Runs `act` outside the context of whoever calls now (AsyncLocalStorage, spans). Loops, timers and connections serve everybody: begun inside
 * the first call that needs them, they would show its store to all later callbacks, and keep it alive.
 */
export const detached = <T>(act: () => T): T => nobody.runInAsyncScope(act)
