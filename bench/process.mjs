// One side of a measurement in its own process: `node bench/process.mjs worker|caller <system> <redis url> <slots>`.
// A caller runs one load per message { inFlight, ms } and answers with what it saw.
import { quantile } from './numbers.mjs'

const [role, system, redis, slots] = process.argv.slice(2)
const { startWorker, startCaller } = await import(`./systems/${system}.mjs`)

const load = async (call, inFlight, ms) => {
  const waits = []
  const started = performance.now()
  const cpu = process.cpuUsage()
  const end = started + ms
  const chain = async () => {
    for (let now = performance.now(); now < end; ) {
      await call()
      const after = performance.now()
      waits.push(after - now)
      now = after
    }
  }
  await Promise.all(Array.from({ length: inFlight }, chain))
  const seconds = (performance.now() - started) / 1000
  const { user, system } = process.cpuUsage(cpu)
  return {
    callsPerSecond: waits.length / seconds,
    p50Us: (quantile(waits, 0.5) ?? 0) * 1000,
    p99Us: (quantile(waits, 0.99) ?? 0) * 1000,
    cpuUsPerCall: (user + system) / waits.length,
  }
}

const side = role === 'worker' ? await startWorker(redis, Number(slots)) : await startCaller(redis)
process.on('message', async message => {
  if (message === 'stop') {
    await (role === 'worker' ? side() : side.close())
    process.disconnect()
    return
  }
  process.send(await load(side.call, message.inFlight, message.ms))
})
process.send('ready')
