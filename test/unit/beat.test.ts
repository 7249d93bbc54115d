import { describe, expect, it } from 'vitest'
import type { WorkerContext } from '../../src/worker/context.ts'
import { BeatLoop } from '../../src/worker/roles/beat.ts'

const beat = { held: true, nowUs: 1, cancelled: [], ended: [] }

/** A worker of which Redis tells what it holds, or refuses to. */
const beating = (heldIds: () => Promise<string[]>) => {
  const asked: string[] = []
  const seen: unknown[] = []
  const context = {
    queue: {
      beat: async () => {
        asked.push('beat')
        await new Promise(resolve => setImmediate(resolve))
        asked.push('answer')
        return beat
      },
      heldIds: () => {
        asked.push('held')
        return heldIds()
      },
    },
    commands: { send: (act: (client: undefined) => unknown) => act(undefined) },
    settings: { leaseMs: 4000 },
    clock: { learn: () => undefined },
    measures: { reportsQueue: false },
    registrar: { publish: async () => undefined },
    stats: () => undefined,
    workerId: () => 'w',
    isServing: () => true,
  } as unknown as WorkerContext
  const loop = new BeatLoop(
    context,
    (...told) => seen.push(told),
    () => undefined,
  )
  return { loop, asked, seen }
}

describe('a beat', () => {
  it('asks in the same packet what is held', async () => {
    const { loop, asked, seen } = beating(async () => ['a'])
    expect(await loop.beatNow()).toBe(true)
    expect(asked).toEqual(['beat', 'held', 'answer'])
    expect(seen).toEqual([[beat, ['a']]])
  })

  it('keeps the lease also where that is refused', async () => {
    const { loop, seen } = beating(() => Promise.reject(new Error('NOPERM')))
    expect(await loop.beatNow()).toBe(true)
    expect(seen).toEqual([[beat, undefined]])
  })
})
