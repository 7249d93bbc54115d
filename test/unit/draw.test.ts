import { describe, expect, it } from 'vitest'
import { Draw } from '../../src/hub/placement.ts'

const live = new Map([
  ['q', 4],
  ['shard.2.q', 4],
  ['shard.3.q', 4],
])

/** Places whose loads tests set. */
const places = () => {
  const loads = new Map([...live.keys()].map(name => [name, { inFlight: 0, unsent: 0, isDown: false }]))
  return { loads, loadOf: (name: string) => loads.get(name)! }
}

describe('the shard of a call', () => {
  it('is that of the call before it while that waits to be sent, for 64 of them', () => {
    const { loads, loadOf } = places()
    const draw = new Draw()
    const chosen = Array.from({ length: 64 * 3 }, () => {
      const shard = draw.next('q', live, loadOf)
      loads.get(shard)!.inFlight++
      loads.get(shard)!.unsent++
      return shard
    })
    for (const from of [0, 64]) expect(new Set(chosen.slice(from, from + 64)).size).toBe(1)
    // Fewer are under way elsewhere.
    expect(chosen[64]).not.toBe(chosen[0])
  })

  it('is drawn anew once that was sent, or cannot be, or is none any more', () => {
    const { loads, loadOf } = places()
    const draw = new Draw()
    const drawAgain = (change: (last: string) => ReadonlyMap<string, number>) => {
      const last = draw.next('q', live, loadOf)
      Object.assign(loadOf(last), { inFlight: 9, unsent: 1 })
      const now = change(last)
      const next = draw.next('q', now, loadOf)
      for (const load of loads.values()) Object.assign(load, { inFlight: 0, unsent: 0, isDown: false })
      return { last, next }
    }
    for (let times = 0; times < 50; times++) {
      const kept = drawAgain(() => live)
      expect(kept.next).toBe(kept.last)
      const others = [
        drawAgain(last => {
          loadOf(last).unsent = 0
          return live
        }),
        drawAgain(last => {
          loadOf(last).isDown = true
          return live
        }),
        drawAgain(last => new Map([...live].filter(([name]) => name !== last))),
      ]
      for (const { last, next } of others) expect(next).not.toBe(last)
    }
  })

  it('is the queue itself where nobody serves any', () => {
    expect(new Draw().next('q', new Map(), places().loadOf)).toBe('q')
  })
})
