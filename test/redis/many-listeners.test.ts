import { getEventListeners } from 'node:events'
import { describe, expect, it, vi } from 'vitest'
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

  it('that outlives what it was given to keeps nothing of that', async () => {
    // The record of the job.
    it_.allowLeftovers()
    const any = vi.spyOn(AbortSignal, 'any')
    it_.onEnd(() => any.mockRestore())
    const { signal } = new AbortController()
    const one = defineTask('one:1.0', {}, () => 1)
    const outer = defineTask('outer:1.0', {}, (_, ctx) => ctx.call('one:1.0', {}, { signal }))
    const chunks = defineTask('chunks:1.0', {}, async function* () {
      yield 1
    })
    await it_.worker([one, outer, chunks], { slots: 4 })
    const hub = it_.hub()
    expect(await hub.call('one:1.0', {}, { signal })).toBe(1)
    expect(await hub.call('outer:1.0')).toBe(1)
    for await (const chunk of hub.stream('chunks:1.0', {}, { signal })) expect(chunk).toBe(1)
    const job = await hub.enqueue('one:1.0', {}, { tracked: true })
    expect(await job.result({ signal })).toBe(1)
    expect(getEventListeners(signal, 'abort')).toEqual([])
    // What it makes depends on its signals for as long as these live.
    expect(any).not.toHaveBeenCalled()
  })
})
