import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

describe('one signal', () => {
  it('may cancel any number of calls, and nothing is said on stderr', async () => {
    const warnings: string[] = []
    const hear = (warning: Error) => warnings.push(warning.name)
    process.on('warning', hear)
    it_.onEnd(() => process.off('warning', hear))
    it_.allowLeftovers()
    let running = 0
    const task = defineTask('wait:1.0', {}, (_, { signal }) => {
      running++
      return new Promise(resolve => signal.addEventListener('abort', () => resolve('cancelled'), { once: true }))
    })
    await it_.worker([task], { slots: 20 })
    const cancel = new AbortController()
    const hub = it_.hub()
    const calls = Array.from({ length: 20 }, () => hub.call('wait:1.0', {}, { signal: cancel.signal }))
    const ends = Promise.allSettled(calls)
    await eventually(() => running === 20)
    cancel.abort()
    expect((await ends).map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 'rejected'))
    // Warnings are told in the tick after; this one comes behind them.
    process.emitWarning('the last one', 'Marker')
    await eventually(() => warnings.includes('Marker'))
    expect(warnings.filter(name => name.startsWith('MaxListeners'))).toEqual([])
  })
})
