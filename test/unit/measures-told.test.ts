import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Events } from '../../src/figures/events.ts'
import { LoopDelay } from '../../src/figures/loop-delay.ts'
import { TaskStats } from '../../src/figures/task-stats.ts'
import { decodeRequest } from '../../src/wire/message.ts'
import { Measures } from '../../src/worker/measures.ts'
import { SlotPool } from '../../src/worker/slot-pool.ts'
import { Slots } from '../../src/worker/slots.ts'

const request = decodeRequest('{"at":1,"ttl":0,"id":"a","task":"t:1.0"}', undefined, 'pshub')
const good = { request, outcome: { ok: true, result: '1' } as const, us: { backlog: 1, queue: 2, exec: 3 }, now: 0 }
const error = { code: 'TaskFailed', message: 'no', retryable: false } as const
const bad = { ...good, outcome: { ok: false, error, thrown: undefined } as const }

describe('what ran', () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] }))
  afterEach(() => {
    vi.useRealTimers()
    vi.restoreAllMocks()
  })

  const make = () => {
    const events = new Events()
    const clock = { atUs: () => 0 }
    const measures = new Measures({
      queueName: 'q',
      slots: new Slots(new SlotPool(1, 0)),
      clock,
      events,
      loop: new LoopDelay(),
    })
    return { counted: vi.spyOn(TaskStats.prototype, 'ran'), events, measures }
  }

  it('is counted together when nobody listens: after some milliseconds, or as soon as there is much', () => {
    const { counted, measures } = make()
    measures.ran(good)
    measures.ran(good)
    vi.advanceTimersByTime(9)
    expect(counted).toHaveBeenCalledTimes(0)
    vi.advanceTimersByTime(1)
    expect(counted).toHaveBeenCalledTimes(2)
    for (let n = 0; n < 64; n++) measures.ran(good)
    expect(counted).toHaveBeenCalledTimes(2)
    vi.advanceTimersByTime(0)
    expect(counted).toHaveBeenCalledTimes(66)
    vi.advanceTimersByTime(100)
    expect(counted).toHaveBeenCalledTimes(66)
  })

  it('is counted in the same turn of the loop when it failed or somebody listens, with all before it', () => {
    const { counted, events, measures } = make()
    measures.ran(good)
    measures.ran(bad)
    vi.advanceTimersByTime(0)
    expect(counted).toHaveBeenCalledTimes(2)
    const heard: unknown[] = []
    events.on('task:settled', ({ ok, code, us }) => heard.push([ok, code, us.exec]))
    measures.ran(good)
    measures.ran(bad)
    expect(heard).toEqual([])
    vi.advanceTimersByTime(0)
    expect(heard).toEqual([
      [true, undefined, 3],
      [false, 'TaskFailed', 3],
    ])
  })

  it('is counted at once when its worker stops', () => {
    const { counted, measures } = make()
    measures.ran(good)
    measures.tell()
    expect(counted).toHaveBeenCalledTimes(1)
    expect(vi.getTimerCount()).toBe(0)
  })
})
