// One side in its own process: `node bench/overload/process.mjs worker|caller <system> <redis url> <slots or hubs>`.
// A caller offers a constant rate per message { rate, ms } and answers with what became of the calls.
import { systems } from './systems.mjs'

const [role, system, redis, count] = process.argv.slice(2)
/** Calls at a constant rate, whatever becomes of them: as many per 5 ms as are due by then. */
const offer = async (side, rate, ms) => {
  const started = performance.now()
  // `inTime` is of the time in which the load is on; what waits at its end is served after it.
  const outcomes = { made: 0, inTime: 0, failed: 0, codes: {}, ok: [], refusedMs: [] }
  const pending = new Set()
  const one = () => {
    const from = performance.now()
    outcomes.made++
    const call = side
      .call()
      .then(
        () => {
          const now = performance.now()
          if (now - started < ms) outcomes.inTime++
          outcomes.ok.push({ begunMs: from - started, tookMs: now - from })
        },
        error => {
          if (side.isRefusal(error)) outcomes.refusedMs.push(performance.now() - from)
          else outcomes.failed++
          const code = error.code ?? error.message.split(' ')[0]
          outcomes.codes[code] = (outcomes.codes[code] ?? 0) + 1
        },
      )
      .finally(() => pending.delete(call))
    pending.add(call)
  }
  await new Promise(resolve => {
    const timer = setInterval(() => {
      const elapsed = performance.now() - started
      while (outcomes.made < (Math.min(elapsed, ms) / 1000) * rate) one()
      if (elapsed < ms) return
      clearInterval(timer)
      resolve()
    }, 5)
  })
  await Promise.all(pending)
  return outcomes
}

/** Calls one after the other until ten in a row take less than 100 ms; how long that took. */
const recover = async (side, ms) => {
  const started = performance.now()
  for (let quick = 0; quick < 10 && performance.now() - started < ms; ) {
    const from = performance.now()
    const ok = await side.call().then(
      () => true,
      () => false,
    )
    quick = ok && performance.now() - from < 100 ? quick + 1 : 0
  }
  return performance.now() - started
}

/** The highest goodput of this many calls in flight: the capacity. */
const saturate = async (side, inFlight, ms) => {
  const started = performance.now()
  let ok = 0
  const chain = async () => {
    while (performance.now() - started < ms) {
      await side.call().then(
        () => ok++,
        () => undefined,
      )
    }
  }
  await Promise.all(Array.from({ length: inFlight }, chain))
  return (ok / (performance.now() - started)) * 1000
}

const counts = { starts: 0, lateStarts: 0 }
const side =
  role === 'worker'
    ? await systems[system].worker(redis, Number(count), counts)
    : await systems[system].caller(redis, Number(count))

const answers = {
  counts: async () => ({ ...counts }),
  saturate: async ({ inFlight, ms }) => ({ capacity: await saturate(side, inFlight, ms) }),
  offer: ({ rate, ms }) => offer(side, rate, ms),
  recover: async ({ ms }) => ({ ms: await recover(side, ms) }),
}

process.on('message', async message => {
  if (message.what === 'stop') {
    await (role === 'worker' ? side() : side.close())
    process.disconnect()
  } else process.send(await answers[message.what](message))
})
process.send({})
