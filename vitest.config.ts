import { defineConfig } from 'vitest/config'
import SlowFirstOrder from './test/support/slow-first-order.mjs'

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    pool: 'forks',
    // A process for each file would compile and load the same modules again for each, a quarter of all work. So a file leaves
    // nothing behind that the next one in its process could notice: no client, no timer, no changed global.
    isolate: false,
    sequence: { sequencer: SlowFirstOrder },
    maxWorkers: 2,
    // On shared machines a process may get no turn for seconds; locally every failure counts the first time.
    retry: process.env.CI ? 1 : 0,
    testTimeout: 40_000,
    hookTimeout: 30_000,
    teardownTimeout: 10_000,
    // What is waited for comes with a beat, a reading and a turn of a busy machine.
    expect: { poll: { timeout: 10_000 } },
  },
})
