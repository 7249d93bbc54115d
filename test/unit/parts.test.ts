import { writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { Events } from '../../src/figures/events.ts'
import { readSettings } from '../../src/settings/read.ts'
import { backoffMs, monotonicMs, signalAfter, sleep, within } from '../../src/wire/clock.ts'
import { Deadlines } from '../../src/wire/deadlines.ts'
import { ConfigError, errorTable, fromWire, HubError, messageOf } from '../../src/wire/errors.ts'
import { newId } from '../../src/wire/ids.ts'
import { isId } from '../../src/wire/keys.ts'
import { newestFirst, parseTaskName } from '../../src/wire/names.ts'
import { callPhases } from '../../src/wire/phases.ts'
import { nearNames } from '../../src/wire/text/near-names.ts'

describe('ids', () => {
  it('are valid, 22 characters, and never repeat', () => {
    const ids = Array.from({ length: 20_000 }, newId)
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.every(id => id.length === 22 && isId(id))).toBe(true)
  })
})

describe('task names', () => {
  it('sort newest first by number, not by text', () => {
    const names = ['a:1.9', 'a:1.10', 'a:2.0', 'a:10.0'].map(parseTaskName).sort(newestFirst)
    expect(names.map(({ full }) => full)).toEqual(['a:10.0', 'a:2.0', 'a:1.10', 'a:1.9'])
  })

  it('near ones are found by small differences and by parts', () => {
    const known = ['resize_image:1.0', 'send_mail:1.0', 'send_mail:2.0', 'city_facts:1.0']
    expect(nearNames('resise_image', known)).toEqual(['resize_image:1.0'])
    expect(nearNames('mail', known)).toEqual(['send_mail:1.0', 'send_mail:2.0'])
    expect(nearNames('zzzzzz', known)).toEqual([])
    expect(nearNames('', known)).toEqual([])
  })
})

describe('settings', () => {
  const file = join(tmpdir(), `pshub-settings-${process.pid}.json`)

  it('come from option, flag, environment, file, default, in this order', () => {
    writeFileSync(file, JSON.stringify({ slots: 2, queue: 'from-file' }))
    const env = { PSHUB_SLOTS: '3' }
    expect(readSettings('worker', {}).slots).toBe(4)
    expect(readSettings('worker', { file }).slots).toBe(2)
    expect(readSettings('worker', { file, env }).slots).toBe(3)
    expect(readSettings('worker', { file, env, flags: { slots: '5' } }).slots).toBe(5)
    expect(readSettings('worker', { file, env, flags: { slots: '5' }, options: { slots: 6 } }).slots).toBe(6)
    expect(readSettings('worker', { file }).queue).toBe('from-file')
    expect(Object.isFrozen(readSettings('hub', {}))).toBe(true)
  })

  it('are refused when unknown or out of bounds, saying where they came from', () => {
    writeFileSync(file, JSON.stringify({ slot: 2 }))
    expect(() => readSettings('worker', { file })).toThrow(/no setting in .* 'slot'/)
    expect(() => readSettings('worker', { env: { PSHUB_SLOTS: 'many' } })).toThrow(/PSHUB_SLOTS must be a whole number/)
    for (const slots of ['1.5', '0x4', ' 4', '4.0', '4e0', '+4', '1_0']) {
      expect(() => readSettings('worker', { flags: { slots } })).toThrow(/--slots must be/)
    }
    expect(() => readSettings('worker', { env: { PSHUB_SLOTS: '4.0' } })).toThrow(/PSHUB_SLOTS must be/)
    expect(readSettings('worker', { env: { PSHUB_STATSD_SAMPLE_RATE: '0.5' } }).statsdSampleRate).toBe(0.5)
    expect(() => readSettings('hub', { options: { slots: 3 } })).toThrow(ConfigError)
    expect(() => readSettings('worker', { file: '/nowhere.json' })).toThrow(/cannot be read/)
    writeFileSync(file, '[]')
    expect(() => readSettings('worker', { file })).toThrow(/must hold a JSON object/)
  })

  it('have defaults that pass their own checks', () => {
    for (const user of ['hub', 'worker', 'registry'] as const) expect(() => readSettings(user, {})).not.toThrow()
  })
})

describe('errors', () => {
  it('survive the wire with code, message and data', () => {
    for (const code of Object.keys(errorTable) as (keyof typeof errorTable)[]) {
      const error = new HubError(code, 'what happened', { data: { a: 1 }, task: 't:1.0' })
      const back = fromWire(JSON.parse(JSON.stringify(error)), { task: 't:1.0' })
      expect(back).toMatchObject({ code, message: 'what happened', data: { a: 1 }, ran: errorTable[code].ran })
    }
  })

  it('of a code unknown here are failures of the task', () => {
    const { code, kind, ran } = fromWire({ code: 'FromTheFuture', message: 'm' }, {})
    expect([code, kind, ran]).toEqual(['FromTheFuture', 'TaskFailed', 'yes'])
    expect(fromWire({ code: 'constructor', message: 'm' }, {}).code).toBe('TaskFailed')
  })

  it('turn anything that was thrown into a sentence', () => {
    const evil = Object.defineProperty({}, 'toJSON', {
      get: () => {
        throw new Error('no')
      },
    })
    for (const thrown of [new Error('m'), 'text', undefined, null, 7, {}, [], Symbol('s'), 10n, evil]) {
      expect(messageOf(thrown).length).toBeGreaterThan(0)
    }
  })
})

describe('time', () => {
  afterEach(() => {
    vi.useRealTimers()
  })

  it('deadlines expire in time, once, and not when they were deleted', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance'] })
    const deadlines = new Deadlines()
    const expired: { wanted: number; at: number }[] = []
    const entries = [80, 20, 50, 20].map(ms => {
      const deadline = monotonicMs() + ms
      return { deadline, expire: () => expired.push({ wanted: deadline, at: monotonicMs() }) }
    })
    for (const entry of entries) deadlines.add(entry)
    deadlines.delete(entries[2]!)
    await vi.advanceTimersByTimeAsync(150)
    expect(expired).toHaveLength(3)
    for (const { wanted, at } of expired) {
      expect(at).toBeGreaterThanOrEqual(wanted)
      expect(at - wanted).toBeLessThan(7)
    }
    expect(deadlines.size).toBe(0)
  })

  it('waits that end early leave no timer', async () => {
    // Its own timers alone: the process has others, of its runner and of files before this one.
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    await within(Promise.resolve(), 60_000)
    await within(Promise.reject(new Error('ignored')), 60_000)
    const controller = new AbortController()
    const sleeping = sleep(60_000, controller.signal)
    expect(vi.getTimerCount()).toBe(1)
    controller.abort()
    await sleeping
    expect(vi.getTimerCount()).toBe(0)
  })

  it('a signal with a time outlives garbage collection', async () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const fired = new Promise<void>(resolve => {
      signalAfter(40, new AbortController().signal).addEventListener('abort', () => resolve())
    })
    const collecting = setInterval(collect, 10)
    await fired
    clearInterval(collecting)
    expect(signalAfter(60_000, AbortSignal.abort()).aborted).toBe(true)
  })

  it('backoff grows to its limit and is spread', () => {
    fc.assert(
      fc.property(fc.nat(1000), attempt => {
        const ms = backoffMs(attempt, 50, 1000)
        return ms >= 25 && ms <= 1000
      }),
    )
    expect(backoffMs(100)).toBeGreaterThanOrEqual(500)
  })
})

describe('phases', () => {
  it('are never negative, also where a clock of the worker ran faster than that of the caller', () => {
    const us = { backlog: 100, queue: 20, exec: 500 }
    expect(callPhases(us, 1)).toEqual({ ...us, reply: 380, total: 1000 })
    expect(callPhases(us, 0.6)).toEqual({ ...us, reply: 0, total: 600 })
  })
})

describe('events', () => {
  it('a subscriber that throws hurts nobody', () => {
    const events = new Events()
    const seen: string[] = []
    events.on('reply:late', () => {
      throw new Error('bad subscriber')
    })
    const end = events.on('reply:late', ({ id }) => seen.push(id))
    events.emit('reply:late', { id: 'a' })
    end()
    events.emit('reply:late', { id: 'b' })
    expect(seen).toEqual(['a'])
  })
})
