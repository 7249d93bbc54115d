import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { monotonicMs } from '../../src/wire/clock.ts'
import { failure, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()
/** Else a worker that never comes back takes the test with it. */
const guardMs = 25_000

describe('a handler that yields without end and waits for nothing, whose caller asked for no stream', () => {
  it.each([
    [
      'async function*',
      async function* (seen: { yielded: number }, until: number) {
        while (monotonicMs() < until) yield ++seen.yielded
      },
    ],
    [
      'function*',
      function* (seen: { yielded: number }, until: number) {
        while (monotonicMs() < until) yield ++seen.yielded
      },
    ],
  ])('%s: is stopped at its deadline, and the worker answers others meanwhile', async (_, count) => {
    const seen = { yielded: 0 }
    const endless = defineTask('endless:1.0', { timeoutMs: 4000 }, () => count(seen, monotonicMs() + guardMs))
    const brief = defineTask('brief:1.0', {}, () => 'here')
    await it_.worker([endless, brief], { slots: 2 })
    const hub = it_.hub()
    let hasEnded = false
    const ended = failure(hub.call('endless:1.0')).finally(() => {
      hasEnded = true
    })
    while (seen.yielded === 0) await new Promise(resolve => setImmediate(resolve))
    expect(await hub.call('brief:1.0')).toBe('here')
    expect(hasEnded).toBe(false)
    expect(await ended).toMatchObject({ code: 'Timeout' })
    const { yielded } = seen
    await hub.call('brief:1.0')
    expect(seen.yielded).toBe(yielded)
  })
})
