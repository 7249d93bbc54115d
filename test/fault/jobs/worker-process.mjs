// Some workers in a process of their own, with tasks that write down what they ran.
import { appendFileSync } from 'node:fs'

const { dist, redis, name, journal, queue, workers } = JSON.parse(process.env.PSHUB_JOBS_SETUP)
const { defineTask, Worker } = await import(`${dist}/index.js`)

let runs = 0
const note = line => appendFileSync(journal, `${JSON.stringify(line)}\n`)

/** `fails`: so many tries; `before`: what the step before it returned. */
const handler = async (args, ctx) => {
  const { token, ms = 1, fails = 0, before } = args
  const run = `${name}/${++runs}`
  note({ e: 'start', id: ctx.id, token, run, before: before?.run, at: Date.now() })
  await new Promise(resolve => setTimeout(resolve, ms))
  if (ctx.attempt <= fails) throw new Error('not yet {')
  note({ e: 'end', id: ctx.id, token, run, at: Date.now() })
  return { run }
}

const tasks = [defineTask(`${queue}-work:1.0`, { retries: 8, backoff: 50 }, handler)]
const options = { redis, queue, tasks, slots: 8, jobSlots: 8, leaseMs: 2000, logLevel: 'silent' }
const all = Array.from({ length: workers }, () => new Worker(options))
await Promise.all(all.map(worker => worker.start()))
process.once('disconnect', () => process.exit(1))
process.once('SIGTERM', async () => {
  await Promise.all(all.map(worker => worker.stop()))
  process.disconnect()
})
process.send('ready')
