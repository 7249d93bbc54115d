import type { TestClock } from './clock.ts'
import type { MemoryRedis } from './redis/server.ts'
import type { Runs } from './runs.ts'
import type { TestWorker } from './worker.ts'

export interface DrainOptions {
  /** How long handlers may take in total, in real time. Default 5000. */
  timeoutMs?: number
}

export interface DrainParts {
  redis: MemoryRedis
  clock: TestClock
  runs: Runs
  /** Makes who runs the jobs, where the worker of the test takes none. */
  drainer: (() => TestWorker) | undefined
}

/** How far the clock is moved at most while something is due that nobody has moved yet: a beat tells of it. */
const beatMs = 1100

/** Runs all that is to be run now, until nothing is left. Returns how many handlers ran. @throws Error when that takes too long */
export const drain = async (parts: DrainParts, { timeoutMs = 5000 }: DrainOptions = {}): Promise<number> => {
  const { runs, drainer } = parts
  const before = runs.count
  const worker = drainer?.()
  await worker?.start()
  try {
    await emptied(parts, timeoutMs)
  } finally {
    await worker?.stop({ graceMs: 0 })
  }
  return runs.count - before
}

const emptied = async ({ redis, clock, runs }: DrainParts, timeoutMs: number): Promise<void> => {
  const end = performance.now() + timeoutMs
  let movedMs = 0
  for (;;) {
    await clock.quiet()
    const left = redis.workLeft
    if (left.size === 0 && runs.running === 0) return
    if (performance.now() > end) {
      const what = [...left].map(([name, count]) => `${count} in ${name}`).join(', ')
      throw new Error(
        `drain() timed out after ${timeoutMs} ms: ${runs.running} handlers run; left are ${what || 'none'}.`,
      )
    }
    // Handlers end by themselves; what only lies there waits for a beat, a release or a rest.
    if (runs.running === 0 && movedMs < beatMs) movedMs += await clock.step(50)
    else await new Promise(resolve => setTimeout(resolve, 1))
  }
}
