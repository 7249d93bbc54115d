// A caller in a process of its own: makes calls at a given rate and writes down how each of them settles.
import { createHash } from 'node:crypto'
import { startForeignHub } from './foreign-hub.mjs'
import { journal, leave, onOrders, pshub, setup, watchLag } from './process.mjs'
import { seeded } from './random.mjs'
import { failureOf, orderStream, readStream } from './reading.mjs'

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

const read = (args, options, spec) => {
  const given = { ...args, ...spec.stream }
  return setup.caller
    ? orderStream(hub.read, 'chunks:1.0', given, spec, spec.stream)
    : readStream(hub.stream('chunks:1.0', given, options), spec, spec.stream)
}

/** What a call or a stream ended with. */
const outcomeOf = async (spec, args, options) => {
  const { token } = spec
  const outcome = spec.stream
    ? await read(args, options, spec)
    : await hub
        .call(spec.idempotent ? 'again:1.0' : 'once:1.0', args, options)
        .then(result => ({ code: 'OK', result }), failureOf)
  const { result, ...rest } = outcome
  // In some languages what yields returns nothing.
  if (rest.code !== 'OK' || rest.left || (spec.stream && result === null)) return rest
  const isRight = result?.token === token && result?.hash === hashOf(args.pad)
  return { ...rest, run: result?.run, ...(isRight ? {} : { foreign: true }) }
}

const call = async ({ idempotent, timeoutMs, ms, chars = 0, act, stream, queue }) => {
  const token = `${setup.name}-${++made}`
  // The letters differ from call to call, so that a reply of another one would be noticed.
  const pad = random()
    .toString(36)
    .slice(2)
    .repeat(Math.ceil(chars / 8))
    .slice(0, chars)
  const started = performance.now()
  // A stream that was begun is not begun again, whatever its task.
  const spec = {
    token,
    idempotent: idempotent && !stream,
    timeoutMs,
    ...(act ? { act } : {}),
    ...(stream ? { stream } : {}),
  }
  journal('attempt', spec)
  open.add(token)
  const outcome = await outcomeOf(
    spec,
    { token, ms, pad, ...(act ? { act } : {}) },
    { timeoutMs, ...(queue ? { queue } : {}) },
  )
  open.delete(token)
  journal('settle', { token, ms: Math.round(performance.now() - started), ...outcome })
  return outcome
}

/** One of the streams that a load describes. */
const streamOf = ({ count, everyMs = [0, 0], ...reading }) => ({
  count: integer(...count),
  everyMs: integer(...everyMs),
  ...reading,
})

const oneOf = ({ idempotent = 0.5, timeoutMs = 2000, ms = [5, 50], chars = [0, 200], special = [], queues = [] }) => {
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
    ...(queues.length > 0 ? { queue: queues[integer(0, queues.length - 1)] } : {}),
    ...(pick.stream ? { stream: streamOf(pick.stream) } : {}),
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
