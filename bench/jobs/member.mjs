// One side of a measurement in a process of its own: enqueues so many blank jobs, or runs them.
import { jobSystems } from './systems.mjs'

const [role, name, url, count, slots] = process.argv.slice(2)
const wanted = Number(count)
const system = jobSystems[name]

const enqueue = async () => {
  const enqueuer = await system.enqueuer(url)
  // Scripts are loaded, and code is warm.
  await enqueuer.many(200)
  process.send('warm')
  await new Promise(resolve => process.once('message', resolve))
  const started = performance.now()
  await enqueuer.many(wanted)
  process.send(performance.now() - started)
  await enqueuer.close()
}

const work = async () => {
  let seen = 0
  let started
  const cpu = process.cpuUsage()
  const worker = await system.worker(url, Number(slots), () => {
    started ??= performance.now()
    if (++seen < wanted) return
    const { user, system: kernel } = process.cpuUsage(cpu)
    process.send({ ms: performance.now() - started, cpuMs: (user + kernel) / 1000 })
  })
  await new Promise(resolve => process.once('message', resolve))
  await worker.close()
}

await (role === 'enqueue' ? enqueue() : work())
process.disconnect()
