import { expect, it } from 'vitest'
import { historyOf } from './history.mjs'
import * as invariants from './invariants.mjs'

// No planted bug breaks these invariants, so histories written by hand show that they are looked at. Times are in ms.
const past = (...events: { t: number }[]) =>
  historyOf(events.map(event => ({ by: 'caller1', token: 'a', ...event, t: event.t * 1000 })))
const called = { e: 'attempt', t: 0, idempotent: false, timeoutMs: 2000 }
const settle = (t: number, fields = {}) => ({ e: 'settle', t, code: 'OK', ran: 'maybe', ...fields })
const start = (t: number, fields = {}) => ({
  e: 'start',
  t,
  by: 'worker1',
  run: 'r',
  worker: 'w',
  atUs: 0,
  ttlMs: 2000,
  ...fields,
})
const lag = { e: 'lag', t: 2390, ms: 390 }

it.each([
  ['one settlement', [settle(2240)], 0],
  ['none', [], 1],
  ['none, and the caller was killed', [{ e: 'kill', t: 5, name: 'caller1' }], 0],
  ['two, for the caller and inside the hub', [settle(1), settle(2), { e: 'twice', t: 3 }], 2],
  ['one after the deadline + 250 ms', [settle(2300)], 1],
  ['one that its own process was too late for', [lag, settle(2400)], 0],
  ['one that was later than that', [lag, settle(2700)], 1],
])('I1: %s', (_, events, count) => expect(invariants.settling(past(called, ...events)).found).toHaveLength(count))

it('I4: a start that nobody called', () => expect(invariants.ghosts(past(start(5)))).toHaveLength(1))

it('I7: the reply of another call', () =>
  expect(invariants.replies(past(called, settle(5, { foreign: true })))).toHaveLength(1))

it.each([
  [start(2050), 0],
  [start(2150), 1],
  [start(5, { atUs: undefined }), 1],
])("I10: a start after the deadline, on Redis' clock: %j", (event, count) =>
  expect(invariants.lateStarts(past(called, event))).toHaveLength(count),
)
