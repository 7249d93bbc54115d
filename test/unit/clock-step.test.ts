import { describe, expect, it } from 'vitest'
import { monotonicMs } from '../../src/wire/clock.ts'
import { RedisClock } from '../../src/wire/redis-clock.ts'
import type { WorkerContext } from '../../src/worker/context.ts'
import { Adopt } from '../../src/worker/roles/adopt.ts'

const startUs = 1_795_220_163_000_000

describe("a step of Redis' clock", () => {
  it('forward is told from answers that come late', () => {
    const clock = new RedisClock()
    clock.learn(startUs, 1000)
    clock.learn(startUs + 1_000_000, 2400)
    clock.learn(startUs + 2_000_000, 3001)
    expect(clock.steppedAt).toBe(Number.NEGATIVE_INFINITY)
    clock.learn(startUs + 3_000_000 + 60_000_000, 4000)
    expect(clock.steppedAt).toBe(4000)
    clock.learn(startUs + 4_000_000 + 60_000_000, 5000)
    expect(clock.steppedAt).toBe(4000)
  })

  it('lets everyone beat once before anybody adopts', () => {
    const clock = new RedisClock()
    const adopted: string[] = []
    const context = {
      clock,
      queue: { name: 'q', adopt: async (_: unknown, lost: string) => void adopted.push(lost) },
      commands: { send: (act: (client: unknown) => unknown) => act(undefined) },
      workerId: () => 'w',
      problem: () => () => undefined,
    } as unknown as WorkerContext
    const { now, turn } = fakeTime()
    const adopt = new Adopt(context)
    let redisUs = startUs
    const beat = (ended: string[]) => {
      redisUs += 1_000_000
      turn(1000)
      clock.learn(redisUs, monotonicMs())
      adopt.onBeat(ended)
    }
    for (let n = 0; n < 3; n++) beat([])
    redisUs += 30_000_000
    beat(['others'])
    beat(['others'])
    expect(adopted).toEqual([])
    beat([])
    beat(['dead'])
    expect(adopted).toEqual(['dead'])
    now.restore()
  })
})

/** Moves performance.now(), which is what monotonicMs() reads. */
function fakeTime() {
  const real = performance.now.bind(performance)
  let ahead = 0
  performance.now = () => real() + ahead
  return {
    now: {
      restore: () => {
        performance.now = real
      },
    },
    turn: (ms: number) => {
      ahead += ms
    },
  }
}
