// One load on one system: what was served of what was offered, and how long it took until all was normal again.
import { setTimeout as sleep } from 'node:timers/promises'
import { startMember } from '../kit/members.mjs'
import { quantile } from '../kit/numbers.mjs'
import { startBetween } from '../kit/servers.mjs'

/** Hubs are shared out among so many processes at most. */
const mostCallers = 5
/** A burst is let in at the beginning of a load; what is begun after it has the waits of the load. */
const onsetMs = 1000
/** So many calls in so many milliseconds: more than half a second of work for eight slots. */
const burst = { calls: 200, ms: 50 }

/** All callers at once, each with its part. */
const askAll = (callers, message) => Promise.all(callers.map(caller => caller.ask(message)))

const offerAll = async (callers, rate, ms) => {
  const parts = await askAll(callers, { what: 'offer', rate: rate / callers.length, ms })
  const sum = of => parts.reduce((total, part) => total + of(part), 0)
  const ok = parts.flatMap(part => part.ok)
  const settled = ok.filter(({ begunMs }) => begunMs >= onsetMs).map(({ tookMs }) => tookMs)
  const all = ok.map(({ tookMs }) => tookMs)
  const refusedMs = parts.flatMap(part => part.refusedMs)
  return {
    made: sum(part => part.made),
    ok: ok.length,
    refused: refusedMs.length,
    failed: sum(part => part.failed),
    goodput: (sum(part => part.inTime) / ms) * 1000,
    okP50Ms: quantile(settled, 0.5),
    okP99Ms: quantile(settled, 0.99),
    allP50Ms: quantile(all, 0.5),
    allP99Ms: quantile(all, 0.99),
    refusedP99Ms: quantile(refusedMs, 0.99),
  }
}

/**
 * @param {string} system
 * @param {number} load times the capacity, which is measured first
 * @param {{ seconds: number, slots: number, hubs?: number }} options
 */
export const measureOverload = async (system, load, { seconds, slots, hubs = 1 }) => {
  const server = await startBetween('redis')
  const start = async (role, count) =>
    (await startMember('bench/overload/process.mjs', [role, system, server.url, String(count)])).member
  const worker = await start('worker', slots)
  const processes = Math.min(hubs, mostCallers)
  const callers = []
  for (let n = 0; n < processes; n++) callers.push(await start('caller', Math.ceil((hubs - n) / processes)))
  try {
    const inFlight = Math.max(1, Math.round((slots * 2) / processes))
    const shares = await askAll(callers, { what: 'saturate', inFlight, ms: 4000 })
    const capacity = shares.reduce((total, share) => total + share.capacity, 0)
    const before = await worker.ask({ what: 'counts' })
    const offered = await offerAll(callers, capacity * load, seconds * 1000)
    const { ms: recoveryMs } = await callers[0].ask({ what: 'recover', ms: 30_000 })
    const after = await worker.ask({ what: 'counts' })
    await sleep(2000)
    const { refused, failed } = await offerAll(callers, (burst.calls * 1000) / burst.ms, burst.ms)
    const lateStarts = after.lateStarts - before.lateStarts
    return { system, load, hubs, capacity, ...offered, recoveryMs, lateStarts, burstLost: refused + failed }
  } finally {
    await Promise.all(callers.map(caller => caller.stop()))
    await worker.stop()
    await server.stop()
  }
}

const pair = (...numbers) => numbers.map(Math.round).join(', ')

/** @param {Awaited<ReturnType<typeof measureOverload>>} result */
export const overloadRow = result => ({
  load: `${result.load}x`,
  system: result.system,
  hubs: result.hubs,
  'capacity/s': Math.round(result.capacity),
  'goodput/s': Math.round(result.goodput),
  'of capacity': `${Math.round((result.goodput / result.capacity) * 100)} %`,
  'ok p50, p99 ms': pair(result.okP50Ms, result.okP99Ms),
  'with the first second': pair(result.allP50Ms, result.allP99Ms),
  refused: result.refused,
  'refused p99 ms': result.refused === 0 ? '-' : result.refusedP99Ms.toFixed(1),
  failed: result.failed,
  'late starts': result.lateStarts,
  'normal again ms': Math.round(result.recoveryMs),
  'lost of a burst': `${result.burstLost} of ${burst.calls}`,
})
