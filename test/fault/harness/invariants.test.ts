import { describe, expect, it } from 'vitest'
import * as invariants from './invariants.mjs'
import { classes, detection, recovery } from './measures.mjs'
import { stalledMs } from './stalls.mjs'
import { attempt, type Event, end, hello, mark, past, settle, start, what } from './written-history.ts'

const good = past(hello, attempt(10), start(12), end(20), settle(21, 'OK', 'a', { run: 'r-a' }))

it('finds nothing in a history in which all is well', () => {
  const { settling, truth, ghosts, duplicates, fencing, replies, lateStarts, slots, wedges } = invariants
  expect(settling(good)).toEqual({ found: [], excused: 0 })
  for (const look of [truth, ghosts, duplicates, fencing, replies, lateStarts, slots, wedges]) {
    expect(look(good), look.name).toEqual([])
  }
})

describe('I1', () => {
  it('a call that never settles', () => {
    expect(what(invariants.settling(past(attempt(0))).found)).toEqual(['a call never settled'])
  })

  it('one that settles twice, for its caller or inside the hub', () => {
    const twice = past(attempt(0), settle(1), settle(2), { e: 'twice', t: 3, id: 'x' })
    expect(what(invariants.settling(twice).found)).toEqual([
      'a call settled more than once',
      '1 calls were settled again inside the hub',
    ])
  })

  it('one that settles later than its deadline + 250 ms', () => {
    expect(invariants.settling(past(attempt(0), settle(2240, 'Timeout'))).found).toEqual([])
    expect(what(invariants.settling(past(attempt(0), settle(2300, 'Timeout'))).found)).toEqual([
      'settled 50 ms too late, as Timeout',
    ])
  })

  it('but not what its process was too late for; the rest of the lateness counts', () => {
    const lag = { e: 'lag', t: 2390, ms: 390 }
    expect(invariants.settling(past(attempt(0), lag, settle(2400, 'Timeout')))).toEqual({ found: [], excused: 1 })
    expect(invariants.settling(past(attempt(0), lag, settle(2700, 'Timeout'))).found).toHaveLength(1)
    const elsewhere = { ...lag, by: 'caller2' }
    expect(invariants.settling(past(attempt(0), elsewhere, settle(2400, 'Timeout'))).found).toHaveLength(1)
  })

  it('and not the calls of a caller that was killed', () => {
    expect(invariants.settling(past(attempt(0), { e: 'kill', t: 5, name: 'caller1' })).found).toEqual([])
  })
})

it('I2: a call that certainly did not run, and was started, however late', () => {
  expect(what(invariants.truth(past(attempt(0), settle(5, 'NotEnqueued'), start(900))))).toEqual([
    'NotEnqueued, and it was started',
  ])
  expect(invariants.truth(past(attempt(0), settle(5, 'OutcomeUnknown'), start(900)))).toEqual([])
})

it('I2: a call that succeeded, or failed in its handler, and never started', () => {
  expect(invariants.truth(past(attempt(0), settle(5)))).toHaveLength(1)
  expect(invariants.truth(past(attempt(0), settle(5, 'TaskFailed', 'a', { ran: 'yes' })))).toHaveLength(1)
})

it('I4: a start that nobody called', () => {
  expect(invariants.ghosts(past(start(5, 'ghost')))).toHaveLength(1)
  expect(invariants.ghosts(past(start(5, 'hand-1')))).toEqual([])
})

it('I5: a second start, unless the task is idempotent', () => {
  const second = start(9, 'a', { run: 'second' })
  expect(invariants.duplicates(past(attempt(0), start(5), second))).toHaveLength(1)
  expect(invariants.duplicates(past(attempt(0, 'a', { idempotent: true }), start(5), second))).toEqual([])
})

it('I6: the result of a worker that others had taken over from', () => {
  const adopted = (t: number) => ({ e: 'adopted', by: 'worker2', t, worker: 'w', count: 1 })
  const calls = [attempt(0), start(5), end(50), settle(55, 'OK', 'a', { run: 'r-a' })]
  expect(invariants.fencing(past(...calls, adopted(20)))).toHaveLength(1)
  expect(invariants.fencing(past(...calls, adopted(60)))).toEqual([])
})

it('I7: the reply of another call', () => {
  expect(invariants.replies(past(attempt(0), settle(5, 'OK', 'a', { foreign: true })))).toHaveLength(1)
})

it("I10: a start after the deadline, on Redis' clock", () => {
  expect(invariants.lateStarts(past(attempt(0), start(2050)))).toEqual([])
  expect(what(invariants.lateStarts(past(attempt(0), start(2150))))).toEqual(['started 150 ms after its deadline'])
  const asleep = { e: 'lag', by: 'worker1', t: 2150, ms: 140 }
  expect(invariants.lateStarts(past(attempt(0), asleep, start(2150)))).toEqual([])
  const shifted = past({ e: 'clock', t: 0, offsetUs: 5_000_000 }, attempt(0), start(2150, 'a', { atUs: 5_000_000 }))
  expect(invariants.lateStarts(shifted)).toHaveLength(1)
  expect(invariants.lateStarts(past(attempt(0), start(5, 'a', { atUs: undefined })))).toHaveLength(1)
})

it("I10: a deadline is counted by Redis' clock as it was when the request was pushed", () => {
  const clocks = [
    { e: 'clock', t: 0, offsetUs: 0 },
    { e: 'clock', t: 1000, offsetUs: 20_000_000 },
  ]
  const startedAt = (t: number, atUs: number) => past(...clocks, attempt(0), start(t, 'a', { atUs }))
  expect(invariants.lateStarts(startedAt(2050, 0))).toEqual([])
  expect(invariants.lateStarts(startedAt(2150, 0))).toHaveLength(1)
  expect(invariants.lateStarts(startedAt(3550, 21_500_000))).toEqual([])
  expect(invariants.lateStarts(startedAt(3650, 21_500_000))).toHaveLength(1)
})

describe('what the machine took', () => {
  const phases = [mark('fault', 0), mark('healed', 1000)]
  /** A tenth of a second in which processes together waited for so long. */
  const stall = (t: number, ms = 60) => ({ e: 'stalled', t, from: (t - 100) * 1000, ms })
  const stalls = (from: number, to: number, ms?: number) =>
    Array.from({ length: (to - from) / 100 }, (_, i) => stall(from + (i + 1) * 100, ms))

  it('is told for a part of the time, and is at most four fifths of it', () => {
    const history = past(stall(1000), stall(1200, 900))
    expect(stalledMs(history, 0, 5_000_000)).toBeCloseTo(140)
    expect(stalledMs(history, 950_000, 1_150_000)).toBeCloseTo(70)
    expect(stalledMs(history, 1_000_000, 1_100_000)).toBe(0)
  })

  it('prolongs the wait for the first success, and for a share of them', () => {
    const firstAt = (ms: number, ...more: Event[]) => {
      const calls = Array.from({ length: 200 }, (_, i) => {
        const t = 1000 + i * 100
        return [attempt(t, `c${i}`), settle(t + 10, t < 1000 + ms ? 'Timeout' : 'OK', `c${i}`)]
      })
      return past(...phases, mark('paused', 21_000), ...more, ...calls.flat())
    }
    const expected = { recoverMs: 10_000 }
    expect(recovery(firstAt(2900), expected).found).toEqual([])
    expect(what(recovery(firstAt(5300), expected).found)).toEqual([
      'the first success came after 5.3 s, without what the machine took',
    ])
    expect(recovery(firstAt(5300, ...stalls(1000, 7000)), expected).found).toEqual([])
    // Later than the busiest machine can make it.
    expect(what(recovery(firstAt(16_000, ...stalls(1000, 20_000, 900)), expected).found)).toEqual([
      'the first success came after 3.2 s, without what the machine took',
    ])
    expect(recovery(firstAt(30_000, ...stalls(1000, 20_000, 900)), expected).found).toHaveLength(2)
    expect(recovery(firstAt(12_000, ...stalls(1000, 2000)), expected).found).toHaveLength(2)
    expect(recovery(firstAt(12_000, ...stalls(1000, 14_000, 900)), expected).found).toEqual([])
  })

  it('is not waited out while a planted bug is looked for: late is what is late by then', () => {
    const seen = (until: number) => ({
      ...past(...phases, attempt(1100), settle(1200, 'Timeout')),
      seenUntil: until * 1000,
    })
    expect(recovery(seen(3500), {}).found).toEqual([])
    expect(what(recovery(seen(4200), {}).found)).toEqual([
      'no call has succeeded for 3.2 s, without what the machine took',
    ])
  })

  it('prolongs a deadline, the notice of a death, and the rest of a backlog', () => {
    expect(invariants.lateStarts(past(attempt(0), start(2250)))).toHaveLength(1)
    expect(invariants.lateStarts(past(attempt(0), start(2250), ...stalls(2000, 2300)))).toEqual([])
    const died = (...more: Event[]) => {
      const kill = { e: 'kill', t: 1000, name: 'worker1' }
      const adopted = { e: 'adopted', by: 'worker2', t: 8000, worker: 'w', count: 1 }
      return detection(past(hello, kill, adopted, mark('end', 20_000), ...more), {}).found
    }
    expect(died()).toHaveLength(1)
    expect(died(...stalls(1000, 4000))).toEqual([])
    const samples = Array.from({ length: 32 }, (_, i) => ({ e: 'sample', t: i * 200, backlog: 3, held: {} }))
    expect(invariants.wedges(past(hello, ...samples))).toHaveLength(1)
    expect(invariants.wedges(past(hello, ...samples, ...stalls(0, 1000)))).toEqual([])
  })

  it('excuses a lease that ran out while no beat could be sent, and no other one', () => {
    const adopted = { e: 'adopted', by: 'worker2', t: 6000, worker: 'w', count: 1 }
    const over = mark('end', 20_000)
    expect(detection(past(hello, adopted, over, ...stalls(1000, 2000)), {}).falseDeaths).toBe(1)
    expect(detection(past(hello, adopted, over, ...stalls(1000, 6000)), {}).falseDeaths).toBe(0)
  })
})

it('I11: more runs than slots', () => {
  const two = [start(5), start(6, 'b'), end(7), end(8, 'b')]
  expect(what(invariants.slots(past(hello, ...two)))).toEqual(['worker1 ran 2 with 1 slots'])
  expect(invariants.slots(past(hello, start(5), end(6), start(6, 'b'), end(7, 'b')))).toEqual([])
})

describe('I14', () => {
  const samples = (from: number, to: number) =>
    Array.from({ length: (to - from) / 200 + 1 }, (_, i) => ({ e: 'sample', t: from + i * 200, backlog: 3, held: {} }))

  it('a backlog beside idle slots in which nothing starts for 6 s', () => {
    expect(invariants.wedges(past(hello, ...samples(0, 6200)))).toHaveLength(1)
    expect(invariants.wedges(past(hello, ...samples(0, 6200), start(3000)))).toEqual([])
    const busy = start(0, 'long')
    expect(invariants.wedges(past(hello, busy, ...samples(10, 6210)))).toEqual([])
    expect(invariants.wedges(past(hello, mark('fault', 0), ...samples(10, 6210), mark('healed', 9000)))).toEqual([])
  })

  it('no success, or too few, after the fault', () => {
    const phases = [mark('fault', 0), mark('healed', 1000), mark('paused', 9000)]
    const calls = (code: (i: number) => string) =>
      Array.from({ length: 80 }, (_, i) => [
        attempt(1000 + i * 100, `c${i}`),
        settle(1010 + i * 100, code(i), `c${i}`),
      ]).flat()
    expect(recovery(past(...phases, ...calls(() => 'OK')), {})).toMatchObject({ found: [], seconds: 0 })
    expect(recovery(past(...phases, ...calls(i => (i < 20 ? 'Timeout' : 'OK'))), {})).toMatchObject({
      found: [],
      seconds: 2,
    })
    expect(recovery(past(...phases, ...calls(i => (i < 40 ? 'Timeout' : 'OK'))), {}).found).toHaveLength(1)
    expect(recovery(past(...phases, ...calls(() => 'Timeout')), {}).found).toHaveLength(2)
    expect(recovery(past(...phases), {}).found).not.toEqual([])
    const isRight = ({ code }: { code: string }) => (code === 'TaskFailed' ? true : undefined)
    const failing = past(...phases, ...calls(i => (i % 5 === 4 ? 'TaskFailed' : 'OK')))
    expect(recovery(failing, {}).found).toHaveLength(1)
    expect(recovery(failing, { isRight }).found).toEqual([])
  })
})

describe('classes', () => {
  const phases = [mark('fault', 1000), mark('healed', 2000)]
  const died = (times: number) => Array.from({ length: times }, (_, i) => start(1600 + i, 'a', { run: `r${i}` }))
  const failed = (t: number, code: string, fields = {}) =>
    past(...phases, attempt(t, 'a', fields), settle(t + 10, code))

  it('counts what a row does not allow, and every failure that no fault excuses', () => {
    const expected = { allowed: ['Timeout'] }
    expect(classes(failed(1500, 'Timeout'), expected).wrong).toEqual([])
    expect(classes(failed(1500, 'TaskFailed'), expected).wrong).toHaveLength(1)
    expect(classes(failed(100, 'Timeout'), expected).wrong).toHaveLength(1)
    expect(classes(failed(6000, 'Timeout'), expected).wrong).toHaveLength(1)
  })

  it('counts as lost what was promised, and what never settled', () => {
    const expected = { allowed: ['Timeout'], promised: 'idempotent' as const }
    expect(classes(failed(1500, 'Timeout', { idempotent: true }), expected).lost).toHaveLength(1)
    expect(classes(failed(1500, 'Timeout'), expected).lost).toEqual([])
    expect(classes(past(...phases, attempt(1500)), {}).lost).toHaveLength(1)
    const poisoned = past(...phases, attempt(1500, 'a', { idempotent: true }), ...died(3), settle(1900, 'WorkerLost'))
    expect(classes(poisoned, { allowed: ['WorkerLost'], promised: 'idempotent' })).toMatchObject({
      lost: [],
      wrong: [],
    })
  })

  it('counts as lost a reply of a handler that had ended in time', () => {
    const expected = { allowed: ['Timeout'], promised: 'replies' as const }
    const ended = (t: number) => past(...phases, attempt(1500), start(1600), end(t), settle(3500, 'Timeout'))
    expect(classes(ended(1700), expected).lost).toHaveLength(1)
    expect(classes(ended(3400), expected).lost).toEqual([])
  })

  it('tells apart what waited while a process got no processor, and no other class', () => {
    const lag = (t: number, ms: number) => ({ e: 'lag', by: 'worker1', t, ms })
    const late = (code: string, ...lags: Event[]) => past(...phases, ...lags, attempt(6000), settle(8000, code))
    expect(classes(late('Timeout', lag(7000, 300)), {})).toMatchObject({ starved: 0, wrong: [{}] })
    expect(classes(late('Timeout', lag(7000, 600)), {})).toMatchObject({ starved: 1, wrong: [] })
    expect(classes(late('NotEnqueued', lag(7000, 600)), {})).toMatchObject({ starved: 1, wrong: [] })
    expect(classes(late('Overloaded', lag(7000, 300)), {})).toMatchObject({ starved: 1, wrong: [] })
    expect(classes(late('Overloaded', lag(7000, 200)), {})).toMatchObject({ starved: 0, wrong: [{}] })
    expect(classes(late('Timeout', lag(2000, 600)), {})).toMatchObject({ starved: 0, wrong: [{}] })
    expect(classes(late('WorkerLost', lag(7000, 600)), {})).toMatchObject({ starved: 0, wrong: [{}] })
    const long = past(...phases, lag(7000, 3000), attempt(6000, 'a', { timeoutMs: 15_000 }), settle(21_000, 'Timeout'))
    expect(classes(long, {})).toMatchObject({ starved: 0, wrong: [{}] })
    const blocked = { blocksWorkers: true }
    expect(classes(late('Timeout', lag(7000, 600)), blocked)).toMatchObject({ starved: 0, wrong: [{}] })
  })

  it('judges a call by what it was made for', () => {
    const expected = {
      isRight: ({ act, code }: { act?: string; code: string }) => (act ? code === 'TaskFailed' : undefined),
    }
    expect(classes(failed(1500, 'TaskFailed', { act: 'throw' }), expected).wrong).toEqual([])
    expect(classes(failed(1500, 'OK', { act: 'throw' }), expected).wrong).toHaveLength(1)
    expect(classes(failed(1500, 'OK'), expected).wrong).toEqual([])
  })
})

describe('I16', () => {
  const kill = { e: 'kill', t: 1000, name: 'worker1' }
  const adopted = (t: number) => ({ e: 'adopted', by: 'worker2', t, worker: 'w', count: 1 })
  const over = mark('end', 20_000)

  it('a death that is noticed too late, or never', () => {
    expect(detection(past(hello, kill, adopted(5000), over), {})).toMatchObject({ found: [], seconds: 4 })
    expect(detection(past(hello, kill, adopted(8000), over), {}).found).toHaveLength(1)
    expect(detection(past(hello, kill, over), {}).found).toHaveLength(1)
  })

  it('a living worker that is taken for dead, by others or by itself', () => {
    expect(detection(past(hello, adopted(500), over), {}).falseDeaths).toBe(1)
    const lost = { e: 'lease-lost', by: 'worker1', t: 600, worker: 'w', now: 'w2' }
    expect(detection(past(hello, lost, over), {}).found).toHaveLength(1)
    const stopped = { e: 'signal', t: 100, name: 'worker1', signal: 'SIGSTOP' }
    expect(detection(past(hello, stopped, adopted(500), lost, over), {}).falseDeaths).toBe(0)
  })
})
