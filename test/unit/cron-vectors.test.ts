import { describe, expect, it } from 'vitest'
import { checkTimes, nextOf, readEntry, tickOf } from '../../src/jobs/cron.ts'
import { read } from '../support/protocol-document.ts'

/** The golden file of schedules' times, held against the code that it describes. */
const { next, refused, ticks } = JSON.parse(read('clients/vectors/cron.json'))

const iso = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString().replace('.000Z', 'Z'))

describe('cron.json', () => {
  it('has cases of everything', () => {
    for (const cases of [next, refused, ticks]) expect(cases.length).toBeGreaterThan(6)
  })

  it('next', () => {
    for (const { cron, timezone, after, next: expected } of next) {
      let at: number | undefined = Date.parse(after)
      for (const time of expected) {
        at = nextOf({ cron, timezone }, at!)
        expect(iso(at), `${cron} ${timezone} ${after}`).toBe(time)
      }
    }
  })

  it('refused', () => {
    for (const { cron, timezone, why } of refused) expect(() => checkTimes('n', { cron, timezone }), cron).toThrow(why)
  })

  it('ticks', () => {
    for (const { cron, missed, tick, now, enqueues, next: following } of ticks) {
      const entry = readEntry(JSON.stringify({ cron, missed, task: 'a:1.0', args: '{}' }))!
      const { message, nextMs } = tickOf(entry, Date.parse(tick), Date.parse(now), 'q')
      expect([message !== '', iso(nextMs)], `${tick} ${missed} ${now}`).toEqual([enqueues, following])
    }
  })
})
