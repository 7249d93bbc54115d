// Histories as tests write them by hand.
import { historyOf } from './history.mjs'

/** Times in journals are microseconds; here they are written in milliseconds. */
export type Event = { e: string; by?: string; t: number; [field: string]: unknown }
export const past = (...events: Event[]) =>
  historyOf(events.map(event => ({ by: 'caller1', ...event, t: event.t * 1000 })).sort((a, b) => a.t - b.t))

export const attempt = (t: number, token = 'a', fields = {}) => ({
  e: 'attempt',
  t,
  token,
  idempotent: false,
  timeoutMs: 2000,
  ...fields,
})
export const settle = (t: number, code = 'OK', token = 'a', fields = {}) => ({
  e: 'settle',
  t,
  token,
  code,
  ran: code === 'NotEnqueued' ? 'no' : 'maybe',
  ...fields,
})
export const start = (t: number, token = 'a', fields = {}) => ({
  e: 'start',
  by: 'worker1',
  t,
  token,
  run: `r-${token}`,
  worker: 'w',
  atUs: 0,
  ttlMs: 2000,
  ...fields,
})
export const end = (t: number, token = 'a', fields = {}) => ({
  e: 'end',
  by: 'worker1',
  t,
  token,
  run: `r-${token}`,
  ...fields,
})
export const hello = { e: 'hello', by: 'worker1', t: 0, worker: 'w', slots: 1 }
export const mark = (what: string, t: number) => ({ e: 'mark', t, what })

export const what = (found: { what: string }[]) => found.map(entry => entry.what)
