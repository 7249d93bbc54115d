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
    // How long a busy machine takes is no failure: these only end what hangs.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    teardownTimeout: 10_000,
    // What is waited for comes with a beat, a reading and a turn of a busy machine.
    expect: { poll: { timeout: 30_000 } },
  },
})
