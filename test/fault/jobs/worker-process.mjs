// Some workers in a process of their own, with tasks that write down what they ran. Those of other languages read and write the same.
import { appendFileSync } from 'node:fs'

const { redis, name, journal, queue, workers, graceMs, leaseMs, dist } = JSON.parse(process.env.PSHUB_JOBS_SETUP)
const { defineTask, Worker } = await import(`${dist}/unjoined.mjs`)

let runs = 0
const note = line => appendFileSync(journal, `${JSON.stringify(line)}\n`)
const wait = (ms, signal) =>
  new Promise(resolve => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })

const acts = {
  block: (_, { ms }) => {
    for (const end = performance.now() + ms; performance.now() < end; );
  },
  throw: () => {
    throw new Error('thrown on purpose')
  },
  never: ctx => wait(3_600_000, ctx.signal).then(() => Promise.reject(ctx.signal.reason)),
  exit: () => process.exit(3),
  wait: () => undefined,
}

/** `fails`: so many tries; `before`: what the step before it returned; `act`: what it does to its worker. */
const handler = async (args, ctx) => {
  const { token, ms = 1, fails = 0, before, act, key, n } = args
  const run = `${name}/${++runs}`
  note({ e: 'start', id: ctx.id, token, run, before: before?.run, key, n, fence: ctx.fence, at: Date.now() })
  try {
    if (act) await acts[act](ctx, args)
    await wait(ms, ctx.signal)
    ctx.signal.throwIfAborted()
    if (ctx.attempt <= fails) throw new Error('not yet {')
    note({ e: 'end', id: ctx.id, token, run, at: Date.now() })
    return { run }
  } finally {
    if (key) note({ e: 'stop', id: ctx.id, run, at: Date.now() })
  }
}

const tasks = [defineTask(`${queue}-work:1.0`, { retries: 8, backoff: 50, jobTimeoutMs: 15_000 }, handler)]
tasks.push(defineTask(`${queue}-acts:1.0`, { retries: 2, backoff: 50, jobTimeoutMs: 2000 }, handler))
tasks.push(
  defineTask(`${queue}-keyed:1.0`, { keyed: 'ordered', retries: 8, backoff: 50, jobTimeoutMs: 15_000 }, handler),
)
/** `ms`: how long it takes; `fails`: how likely it fails. A run takes as long as the slowest of its payloads. */
const runMerged = async (byKey, ctx) => {
  const run = `${name}/${++runs}`
  const keys = [...byKey].map(([key, payloads]) => [key, payloads.map(({ n }) => n)])
  const payloads = [...byKey.values()].flat()
  note({ e: 'merged', run, keys, fence: ctx.fence, at: Date.now() })
  let isDone = false
  try {
    await wait(Math.max(...payloads.map(({ ms }) => ms)), ctx.signal)
    ctx.signal.throwIfAborted()
    if (payloads.some(({ fails = 0 }) => Math.random() < fails)) throw new Error('not yet {')
    isDone = true
  } finally {
    note({ e: 'merged-stop', run, isDone, at: Date.now() })
  }
}
const merging = { keyed: 'merged', batch: 3, maxPayloads: 20, retries: 8, backoff: 50, jobTimeoutMs: 15_000 }
tasks.push(defineTask(`${queue}-merged:1.0`, merging, runMerged))
// Those of schedules.
for (const name of ['once', 'skip'])
  tasks.push(defineTask(`${queue}-${name}:1.0`, { retries: 8, backoff: 50, jobTimeoutMs: 15_000 }, handler))
const options = { redis, queue, tasks, slots: 8, jobSlots: 8, leaseMs, graceMs, logLevel: 'silent' }
const all = Array.from({ length: workers }, () => new Worker(options))
for (const worker of all) worker.events.on('lease:lost', () => note({ e: 'lease-lost', by: name, at: Date.now() }))
await Promise.all(all.map(worker => worker.start()))
// The stage is gone: nobody would ever end this process.
process.stdin.once('end', () => process.exit(1)).resume()
process.once('SIGTERM', async () => {
  await Promise.all(all.map(worker => worker.stop()))
  process.exit(0)
})
process.stdout.write('ready\n')
