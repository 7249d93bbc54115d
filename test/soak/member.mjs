// A process of the soak: a worker, or a caller under load. Tells what it uses when it is asked.
import { setTimeout as sleep } from 'node:timers/promises'
import { defineTask, Hub, Worker } from '../../dist/index.js'

const [, , role, redis] = process.argv
const tasks = [
  defineTask('echo:1.0', { idempotent: true }, args => args),
  defineTask('slow:1.0', {}, () => sleep(50)),
  defineTask('fails:1.0', {}, () => {
    throw new Error('as it should')
  }),
]
let calls = 0

const startWorker = () => new Worker({ redis, tasks, slots: 16, logLevel: 'silent' }).start()

/** Results, failures, deadlines that pass and callers that give up, of all sizes. */
const callOn = async hub => {
  for (;;) {
    const giveUp = AbortSignal.timeout(20)
    await Promise.allSettled([
      ...Array.from({ length: 16 }, (_, n) => hub.call('echo:1.0', { text: 'x'.repeat((calls * 7 + n * 131) % 5000) })),
      hub.call('fails:1.0'),
      hub.call('slow:1.0', {}, { timeoutMs: 10 }),
      hub.call('slow:1.0', {}, { signal: giveUp }),
    ])
    calls += 19
    await sleep(20)
  }
}

if (role === 'worker') await startWorker()
else void callOn(new Hub({ redis, logLevel: 'silent' }))

process.on('message', () => {
  globalThis.gc()
  const { heapUsed, rss } = process.memoryUsage()
  const handles = process.getActiveResourcesInfo().filter(kind => kind !== 'Timeout' && kind !== 'Immediate').length
  process.send({ calls, sample: { 'heap, MB': heapUsed / 1e6, 'resident, MB': rss / 1e6, handles } })
})
process.send('ready')
