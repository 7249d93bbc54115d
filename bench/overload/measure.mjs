// One load on one system: what was served of what was offered, and how long it took until all was normal again.
import { startMember } from '../kit/members.mjs'
import { startBetween } from '../kit/servers.mjs'

/**
 * @param {string} system
 * @param {number} load times the capacity, which is measured first
 * @param {{ seconds: number, slots: number }} options
 */
export const measureOverload = async (system, load, { seconds, slots }) => {
  const server = await startBetween('redis')
  const start = async role =>
    (await startMember('bench/overload/process.mjs', [role, system, server.url, String(slots)])).member
  const worker = await start('worker')
  const caller = await start('caller')
  try {
    const { capacity } = await caller.ask({ what: 'saturate', inFlight: slots * 2, ms: 4000 })
    const before = await worker.ask({ what: 'counts' })
    const offered = await caller.ask({ what: 'offer', rate: capacity * load, ms: seconds * 1000 })
    const { ms: recoveryMs } = await caller.ask({ what: 'recover', ms: 30_000 })
    const after = await worker.ask({ what: 'counts' })
    return { system, load, capacity, ...offered, recoveryMs, lateStarts: after.lateStarts - before.lateStarts }
  } finally {
    await caller.stop()
    await worker.stop()
    await server.stop()
  }
}

/** @param {Awaited<ReturnType<typeof measureOverload>>} result */
export const overloadRow = result => ({
  load: `${result.load}x`,
  system: result.system,
  'capacity/s': Math.round(result.capacity),
  'goodput/s': Math.round(result.goodput),
  'of capacity': `${Math.round((result.goodput / result.capacity) * 100)} %`,
  'ok p50 ms': Math.round(result.okP50Ms),
  'ok p99 ms': Math.round(result.okP99Ms),
  refused: result.refused,
  'refused p99 ms': result.refusedP99Ms === undefined ? '-' : result.refusedP99Ms.toFixed(1),
  failed: result.failed,
  'late starts': result.lateStarts,
  'normal again ms': Math.round(result.recoveryMs),
})
