// What the worker of the two pictures serves.
import { setTimeout as sleep } from 'node:timers/promises'
import { defineTask } from '../../dist/index.js'

/** Waits for something else, as most tasks do: others run meanwhile. */
export const wait = defineTask('wait:1.0', { timeoutMs: 60_000 }, async ({ ms }) => sleep(ms, null))

/** Computes without an await: nothing else runs meanwhile. */
export const block = defineTask('block:1.0', { timeoutMs: 60_000 }, ({ ms }) => {
  const end = performance.now() + ms
  while (performance.now() < end);
})
