import { describe, expect, it } from 'vitest'
import * as invariants from './invariants.mjs'
import { service } from './measures.mjs'
import { attempt, hello, mark, past, settle, start, what } from './written-history.ts'

describe('a promotion', () => {
  const cut = (t: number, from = true) => ({ e: 'unheard', t, from })
  const again = (first: number, second = 1300) => [
    attempt(800),
    start(first),
    start(second, 'a', { run: 'again', by: 'worker2' }),
  ]

  it('excuses a second start only of what started shortly before the cut, or while the old master went on', () => {
    const both = (first: number) => past(...again(first), cut(1000), cut(1100, false))
    expect(invariants.duplicates(both(980), 100)).toEqual([])
    expect(invariants.duplicates(both(1090), 100)).toEqual([])
    expect(invariants.duplicates(both(980), undefined)).toHaveLength(1)
    expect(invariants.duplicates(both(880), 100)).toHaveLength(1)
    expect(invariants.duplicates(both(1190), 100)).toEqual([])
    expect(invariants.duplicates(both(1210), 100)).toHaveLength(1)
    const third = past(...again(980), start(1400, 'a', { run: 'third' }), cut(1000))
    expect(invariants.duplicates(third, 100)).toHaveLength(1)
    expect(invariants.secondStarts(both(980), 100)).toEqual({ count: 1, earliestMs: 20 })
  })

  const phases = [mark('fault', 0), mark('healed', 1500), mark('paused', 9000)]
  const promoted = (t: number, but: string[] = []) => ({ e: 'promoted', t, but })
  const isCaller = { e: 'hello', by: 'caller1', t: 0 }
  const served = (at: number) => past(...phases, promoted(1000), isCaller, attempt(900), settle(at))

  it('is followed by service for each within three seconds', () => {
    expect(service(served(3900))).toMatchObject({ found: [], gapSeconds: 2.9 })
    expect(what(service(served(4100)).found)).toEqual(['caller1 had no service for 3.1 s after a promotion'])
    const idle = past(...phases, promoted(1000), isCaller, hello, attempt(900), settle(1100))
    expect(what(service(idle).found)).toEqual(['worker1 had no service for 8.0 s after a promotion'])
    const cutOff = past(...phases, promoted(1000, ['worker1']), isCaller, hello, attempt(900), settle(1100))
    expect(service(cutOff).found).toEqual([])
    const left = { e: 'exit', t: 1500, name: 'worker1' }
    const gone = past(...phases, promoted(1000), isCaller, hello, left, attempt(900), settle(1100))
    expect(service(gone).found).toEqual([])
    expect(service(past(...phases, isCaller))).toEqual({ found: [], gapSeconds: undefined, outageSeconds: undefined })
  })
})
