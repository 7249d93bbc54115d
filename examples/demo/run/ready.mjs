// Waiting until the workers have declared their tasks.
import { setTimeout as sleep } from 'node:timers/promises'

/** Reading 135,000 places takes a small machine a few seconds. */
const startPatienceMs = 60_000

/**
 * @param {import('pshub').Hub} hub
 * @param {string[]} wanted names of tasks
 * @param {number} [patienceMs]
 * @returns {Promise<void>} once a live worker provides each of them
 * @throws when it takes too long, or the hub is closed
 */
export const untilProvided = async (hub, wanted, patienceMs = startPatienceMs) => {
  const until = performance.now() + patienceMs
  for (;;) {
    const provided = new Set((await hub.tasks()).filter(({ workers }) => workers.length > 0).map(({ task }) => task))
    const missing = wanted.filter(task => !provided.has(task))
    if (missing.length === 0) return
    if (performance.now() > until) throw new Error(`No worker came up for ${missing.join(', ')}.`)
    await sleep(100)
  }
}
