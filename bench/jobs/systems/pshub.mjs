import { defineTask, Hub, Worker } from '../../../dist/index.js'
import { listed } from './chunks.mjs'

export const enqueuer = async url => {
  const hub = new Hub({ redis: url, logLevel: 'silent' })
  const many = count =>
    hub.enqueueMany(
      listed(0, count, n => ['blank:1.0', { n }]),
      { queue: 'bench' },
    )
  return { many, close: () => hub.close() }
}

export const worker = async (url, slots, onJob) => {
  const tasks = [defineTask('blank:1.0', {}, () => onJob())]
  const worker = new Worker({ redis: url, queue: 'bench', tasks, slots, jobSlots: slots, logLevel: 'silent' })
  await worker.start()
  return { close: () => worker.stop() }
}
