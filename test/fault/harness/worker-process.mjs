// A worker in a process of its own, with tasks that write down when they start and end.
import { createHash } from 'node:crypto'
import { misbehave } from './misbehaviour.mjs'
import { journal, leave, onOrders, pshub, setup, watchLag } from './process.mjs'

const stopWatching = watchLag()

// The request as pshub runs it: `at` and `ttl` say on Redis' clock when it must not be started any more.
const { Executor } = await import(`${setup.dist}/worker/executor.js`)
const requests = new Map()
const { start } = Executor.prototype
Executor.prototype.start = function (request, receivedAt, remainingMs, onEnd) {
  requests.set(request.heldId, request)
  const isStarted = start.call(this, request, receivedAt, remainingMs, execution => {
    requests.delete(request.heldId)
    onEnd(execution)
  })
  if (!isStarted) requests.delete(request.heldId)
  return isStarted
}

let runs = 0

const waitFor = (ms, signal) =>
  new Promise(resolve => {
    const timer = setTimeout(() => resolve('end'), ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve('abort')
    })
  })

const handler = async (args, ctx) => {
  // Also of what was pushed by hand, which may be anything.
  const { token = 'hand-pushed', ms = 1, pad = '', act } = args ?? {}
  const run = `${setup.name}/${++runs}`
  const { atUs, ttlMs } = requests.get(ctx.id) ?? {}
  journal('start', { token, run, worker: worker.id, atUs, ttlMs })
  const hash = createHash('sha1').update(pad).digest('hex')
  if (act) {
    const ended = misbehave(act, ctx, journal, { token, run }, hash)
    if (ended) return ended
  }
  journal(await waitFor(ms, ctx.signal), { token, run })
  return { token, run, hash }
}

/** Tells how many it gave: of one that is told to stop that is known where it heard of it. */
const yielding = async function* (args, ctx) {
  const { token, pad, count, everyMs, firstMs = 0 } = args
  const run = `${setup.name}/${++runs}`
  const { atUs, ttlMs } = requests.get(ctx.id) ?? {}
  let yielded = 0
  journal('start', { token, run, worker: worker.id, atUs, ttlMs })
  try {
    if (firstMs > 0) await waitFor(firstMs, ctx.signal)
    while (yielded < count && !ctx.signal.aborted) {
      yield { token, n: ++yielded }
      if (everyMs > 0) await waitFor(everyMs, ctx.signal)
    }
    return { token, run, hash: createHash('sha1').update(pad).digest('hex') }
  } finally {
    journal(ctx.signal.aborted ? 'abort' : 'end', { token, run, yielded })
  }
}

const { defineTask, Worker } = pshub
/** Of a version that refuses what the one before took. */
const args = { type: 'object', properties: { ms: { type: 'number', maximum: 1000 } } }
const tasks = [
  defineTask('once:1.0', {}, handler),
  defineTask('again:1.0', { idempotent: true, ...(setup.isStrict ? { args } : {}) }, handler),
  defineTask('chunks:1.0', { idempotent: true }, yielding),
]
const worker = new Worker({ redis: setup.redis, queue: 'q', logLevel: 'warn', tasks, ...setup.options })
worker.events.on('redis:up', ({ role }) => journal('up', { role }))
worker.events.on('queue:resumed', () => journal('mark', { what: 'resumed' }))
worker.events.on('lease:lost', event => journal('lease-lost', { worker: event.worker, now: worker.id }))
worker.events.on('worker:lost', event => journal('adopted', { worker: event.worker, count: event.adopted }))

const stop = async graceMs => {
  await worker.stop(graceMs === undefined ? {} : { graceMs })
  stopWatching()
  leave()
}
process.once('SIGTERM', () => void stop(setup.graceMs))

onOrders({ close: input => void stop(input?.graceMs) })

try {
  await worker.start()
  journal('hello', { pid: process.pid, worker: worker.id, slots: setup.options?.slots ?? 4 })
} catch (error) {
  journal('refused', { message: error.message })
  stopWatching()
  leave()
}
