import { defineTask, Hub, Worker } from '../../../dist/index.js'
import { listed } from './chunks.mjs'

/** pshub with keys: the same blank jobs, of a task that is declared in such a way. `keys`: how many share them, in turn. */
export const keyed = (options, keys = Number.POSITIVE_INFINITY) => {
  const task = onJobs => defineTask('blank:1.0', options, options.keyed === 'merged' ? onJobs.merged : onJobs.single)
  const start = async (url, slots, onJobs) => {
    const tasks = [task(onJobs)]
    const worker = new Worker({ redis: url, queue: 'bench', tasks, slots, jobSlots: slots, logLevel: 'silent' })
    await worker.start()
    return worker
  }
  return {
    enqueuer: async url => {
      // Known to have keys from then on.
      await (await start(url, 1, { single: () => undefined, merged: () => undefined })).stop()
      const hub = new Hub({ redis: url, logLevel: 'silent' })
      // Each of them once: equal ones of a key would be one.
      let next = 0
      const many = count => {
        next += count
        return hub.enqueueMany(listed(next - count, next, n => ['blank:1.0', { n }, { key: `order-${n % keys}` }]))
      }
      return { many, close: () => hub.close() }
    },
    worker: async (url, slots, onJob) => {
      const worker = await start(url, slots, {
        single: () => onJob(),
        merged: byKey => {
          for (const payloads of byKey.values()) for (const _ of payloads) onJob()
        },
      })
      return { close: () => worker.stop() }
    },
  }
}
