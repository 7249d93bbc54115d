import { describe, expect, it } from 'vitest'
import { chunks, pressure, unread } from './stream-invariants.mjs'
import { attempt, end, hello, mark, past, settle, start, what } from './written-history.ts'

const begun = attempt(0, 'a', { stream: { count: 10 } })
const ended = (t: number, yielded: number, fields = {}) => end(t, 'a', { yielded, ...fields })
const read = (t: number, count: number, fields = {}) => settle(t, 'OK', 'a', { chunks: count, ...fields })

it('finds nothing where all chunks were read, and nothing in calls', () => {
  const good = past(hello, begun, start(1), ended(20, 10), read(25, 10))
  const calls = past(hello, attempt(0), start(1), end(20), settle(25), mark('end', 90_000))
  for (const history of [good, calls])
    for (const look of [chunks, pressure, unread]) expect(look(history), look.name).toEqual([])
})

describe('chunks', () => {
  it('one that was not the next one', () => {
    const wrong = past(hello, begun, start(1), ended(20, 10), read(25, 10, { wrong: 'chunk 3 was 5' }))
    expect(what(chunks(wrong))).toEqual(['chunk 3 was 5'])
  })

  it('some that are missing at a good end; not where the reader left, or the stream failed', () => {
    const short = (fields: object, code = 'OK') =>
      past(hello, begun, start(1), ended(20, 10), settle(25, code, 'a', { chunks: 9, ...fields }))
    expect(what(chunks(short({})))).toEqual(['ended well with 9 of 10 chunks'])
    expect(chunks(short({ left: true }))).toEqual([])
    expect(chunks(short({}, 'WorkerLost'))).toEqual([])
  })
})

it('pressure: a handler that is more than a window ahead of what was read', () => {
  const ahead = (yielded: number) => past(hello, begun, start(1), ended(20, yielded), read(25, 5, { left: true }))
  expect(pressure(ahead(261))).toEqual([])
  expect(what(pressure(ahead(262)))).toEqual(['its handler was 257 chunks ahead of its reader'])
})

describe('unread', () => {
  const patient = attempt(0, 'a', { stream: {}, timeoutMs: 60_000 })
  const left = read(100, 5, { left: true })

  it('a handler that goes on when its reader has left, or never ends', () => {
    expect(unread(past(hello, patient, start(1), left, ended(3000, 9)))).toEqual([])
    expect(what(unread(past(hello, patient, start(1), left, ended(3200, 9))))).toEqual([
      'its handler ran on for nobody, 100 ms too long',
    ])
    expect(unread(past(hello, patient, start(1), left, mark('end', 9000)))).toHaveLength(1)
  })

  it('but not where its worker died, was asleep, or the fault kept it from hearing that', () => {
    const killed = { e: 'kill', t: 50, name: 'worker1' }
    expect(unread(past(hello, patient, start(1), killed, left, mark('end', 9000)))).toEqual([])
    const woken = { e: 'signal', t: 4000, name: 'worker1', signal: 'SIGCONT' }
    expect(unread(past(hello, patient, start(1), left, woken, ended(6000, 9)))).toEqual([])
    const touched = [hello, patient, start(1), mark('fault', 50), left, mark('healed', 5000), ended(20_000, 9)]
    expect(unread(past(...touched))).toEqual([])
    expect(unread(past(...touched), { unreadMs: 3000 })).toHaveLength(1)
  })

  it('one that goes on 24 s after its caller was killed', () => {
    const killed = { e: 'kill', t: 100, name: 'caller1' }
    expect(unread(past(hello, patient, start(1), killed, ended(24_000, 9)))).toEqual([])
    expect(unread(past(hello, patient, start(1), killed, ended(24_200, 9)))).toHaveLength(1)
  })
})
