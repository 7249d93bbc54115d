// A caller in a process of its own: makes calls at a given rate and writes down how each of them settles.
import { createHash } from 'node:crypto'
import { startForeignHub } from './foreign-hub.mjs'
import { journal, leave, onOrders, pshub, setup, watchLag } from './process.mjs'
import { seeded } from './random.mjs'

const stopWatching = watchLag()
const { integer, between, chance, random } = seeded(setup.seed)
const hub = setup.caller
  ? await startForeignHub(setup)
  : new pshub.Hub({ redis: setup.redis, name: setup.name, logLevel: 'warn', ...setup.options })
hub.events.on('redis:up', ({ role }) => journal('up', { role }))
hub.events.on('queue:pushed', ({ repeated }) => repeated && journal('repeated'))
const settlements = new Map()
hub.events.on('call:settled', ({ id }) => {
  // Refused before there was a request: such a call has none that could settle again.
  if (id === undefined) return
  settlements.set(id, (settlements.get(id) ?? 0) + 1)
  if (settlements.get(id) > 1) journal('twice', { id })
})

let made = 0
const open = new Set()

const hashOf = pad => createHash('sha1').update(pad).digest('hex')

const call = async ({ idempotent, timeoutMs, ms, chars = 0, act }) => {
  const token = `${setup.name}-${++made}`
  // The letters differ from call to call, so that a reply of another one would be noticed.
  const pad = random()
    .toString(36)
    .slice(2)
    .repeat(Math.ceil(chars / 8))
    .slice(0, chars)
  const task = idempotent ? 'again:1.0' : 'once:1.0'
  const started = performance.now()
  journal('attempt', { token, idempotent, timeoutMs, ...(act ? { act } : {}) })
  open.add(token)
  let outcome
  try {
    const result = await hub.call(task, { token, ms, pad, ...(act ? { act } : {}) }, { timeoutMs })
    const right = result?.token === token && result?.hash === hashOf(pad)
    outcome = { code: 'OK', run: result?.run, ...(right ? {} : { foreign: true }) }
  } catch (error) {
    outcome = { code: error.code ?? 'Crash', ran: error.ran, message: String(error.message).slice(0, 160) }
  }
  open.delete(token)
  journal('settle', { token, ms: Math.round(performance.now() - started), ...outcome })
  return outcome
}

const oneOf = ({ idempotent = 0.5, timeoutMs = 2000, ms = [5, 50], chars = [0, 200], special = [] }) => {
  const pick = special.find(({ share }) => chance(share)) ?? {}
  const isIdempotent = pick.idempotent ?? chance(idempotent)
  const [shortest, longest] = pick.ms ?? ms
  const [fewest, most] = pick.chars ?? chars
  return {
    idempotent: isIdempotent,
    timeoutMs: pick.timeoutMs ?? timeoutMs,
    ms: Math.round(between(shortest, longest)),
    chars: integer(fewest, most),
    act: pick.act,
  }
}

let load
let timer

/** An open load: calls come when they come, whether or not the ones before were answered. */
const tick = () => {
  const due = ((performance.now() - load.startedAt) / 1000) * load.perSecond
  for (; load.calls < due; load.calls++) void call(oneOf(load))
}

onOrders({
  load(input) {
    load = { ...input, startedAt: performance.now(), calls: 0 }
    timer ??= setInterval(tick, 5)
  },
  pause() {
    clearInterval(timer)
    timer = undefined
  },
  call,
  /** A job, which any worker runs; says how it was answered, and after what time. */
  async enqueue(options) {
    const started = performance.now()
    const [code, message] = await hub.enqueue('again:1.0', { token: 'hand-enqueued' }, options).then(
      () => ['OK'],
      error => [error.code, error.message],
    )
    return { code, message, ms: performance.now() - started }
  },
  async overview() {
    const { tasks, workers } = await hub.overview()
    return { tasks: tasks.map(({ task }) => task), workers: workers.filter(({ live }) => live).length }
  },
  async finish({ patienceMs }) {
    const end = performance.now() + patienceMs
    while (open.size > 0 && performance.now() < end) await new Promise(resolve => setTimeout(resolve, 20))
    return { open: open.size }
  },
  async close() {
    clearInterval(timer)
    await hub.close()
    stopWatching()
    setImmediate(leave)
  },
})
journal('hello', { pid: process.pid, hub: hub.id })
