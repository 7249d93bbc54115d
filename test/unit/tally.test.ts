import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Measures } from '../../src/measures.ts'
import { decodeRequest } from '../../src/message.ts'
import { Slots } from '../../src/slots.ts'
import { Tally } from '../../src/tally.ts'
import { Events } from '../../src/telemetry.ts'

const request = decodeRequest('{"at":1,"ttl":0,"id":"a","task":"t:1.0"}', undefined, 'pshub')
const good = { request, outcome: { ok: true, result: '1' } as const, us: { backlog: 1, queue: 2, exec: 3 }, now: 0 }
const error = { code: 'TaskFailed', message: 'no', retryable: false } as const
const bad = { ...good, outcome: { ok: false, error, thrown: undefined } as const }

describe('what ran', () => {
  beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate'] }))
  afterEach(() => vi.useRealTimers())

  const make = () => {
    const measures = new Measures(new Slots(1, 0))
    const events = new Events()
    const ran = vi.spyOn(measures, 'ran')
    return { ran, events, tally: new Tally({ queueName: 'q', measures, events, redisUs: () => 0 }) }
  }

  it('is told together when nobody listens: after some milliseconds, or as soon as there is much', () => {
    const { ran, tally } = make()
    tally.add(good)
    tally.add(good)
    vi.advanceTimersByTime(9)
    expect(ran).toHaveBeenCalledTimes(0)
    vi.advanceTimersByTime(1)
    expect(ran).toHaveBeenCalledTimes(2)
    for (let n = 0; n < 64; n++) tally.add(good)
    expect(ran).toHaveBeenCalledTimes(2)
    vi.advanceTimersByTime(0)
    expect(ran).toHaveBeenCalledTimes(66)
    vi.advanceTimersByTime(100)
    expect(ran).toHaveBeenCalledTimes(66)
  })

  it('is told in the same turn of the loop when it failed or somebody listens, with all before it', () => {
    const { ran, events, tally } = make()
    tally.add(good)
    tally.add(bad)
    vi.advanceTimersByTime(0)
    expect(ran).toHaveBeenCalledTimes(2)
    const heard: unknown[] = []
    events.on('task:settled', ({ ok, code, us }) => heard.push([ok, code, us.exec]))
    tally.add(good)
    tally.add(bad)
    expect(heard).toEqual([])
    vi.advanceTimersByTime(0)
    expect(heard).toEqual([
      [true, undefined, 3],
      [false, 'TaskFailed', 3],
    ])
  })

  it('is told at once when its worker stops', () => {
    const { ran, tally } = make()
    tally.add(good)
    tally.tell()
    expect(ran).toHaveBeenCalledTimes(1)
    expect(vi.getTimerCount()).toBe(0)
  })
})
