// What workers publish of their tasks: recorded from the worker's own measuring, which is fed with minutes of made-up calls in no time.
import { Events } from '../../dist/figures/events.js'
import { monotonicMs } from '../../dist/wire/clock.js'
import { newId } from '../../dist/wire/ids.js'
import { Measures } from '../../dist/worker/measures.js'

/** Longer than slow calls are kept, so that what is recorded then is as it stays. */
const warmUpS = 330
const recordedS = 60
const beatMs = 1000
const failing = 0.002
const callers = ['shop', 'billing', 'cron', 'mail']

const drawNormal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random())
/** Most are near the median, some take many times as long. */
const drawUs = (medianUs, spread) => Math.round(medianUs * Math.exp(spread * drawNormal()))

const slots = { busy: 3, size: 16, busyShare: () => 0.2 + Math.random() * 0.01 }
const loop = { longestMs: () => 1.5, lately: () => ({ mean: 0.4, p99: 3.1, max: 12.6 }) }

/** One worker's beats of a minute, in turn: what it would have published with each, and all of it. */
const record = (tasks, callsPerSecond) => {
  const startedAt = monotonicMs()
  const measures = new Measures({
    queueName: 'any',
    slots,
    clock: { atUs: now => Math.round(1.7e15 + now * 1000) },
    events: new Events(),
    loop,
  })
  const medians = new Map(tasks.map(({ name }) => [name.full, 10 ** (3 + 2 * Math.random())]))
  const beats = []
  for (let second = 1; second <= warmUpS + recordedS; second++) {
    const now = startedAt + second * beatMs
    for (let left = callsPerSecond; left > Math.random(); left--) {
      const task = tasks[Math.floor(Math.random() * tasks.length)].name.full
      const us = { backlog: drawUs(300, 0.6), queue: drawUs(40, 0.5), exec: drawUs(medians.get(task), 0.7) }
      const outcome =
        Math.random() < failing
          ? { ok: false, error: { code: 'TaskFailed', message: 'No such customer.' } }
          : { ok: true }
      const request = { task, id: newId(), from: callers[Math.floor(Math.random() * callers.length)], heldId: 'any' }
      measures.ran({ request, outcome, us, now: now - Math.random() * beatMs })
    }
    measures.tell()
    const changed = measures.texts(false, now)
    if (second > warmUpS) beats.push(changed)
  }
  return { measures, beats, all: measures.texts(true, startedAt + (warmUpS + recordedS) * beatMs) }
}

/** So many workers of one kind; a crowd of any size plays them, each from another beat on. */
export const recordTapes = (tasks, callsPerSecond, count) =>
  Array.from({ length: count }, () => record(tasks, callsPerSecond))
