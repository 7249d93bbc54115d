import { Queue, Worker } from 'bullmq'
import { chunked, listed } from './chunks.mjs'

const options = { removeOnComplete: true }

export const enqueuer = async url => {
  const queue = new Queue('bench', { connection: { url, maxRetriesPerRequest: null } })
  await queue.waitUntilReady()
  const many = count =>
    chunked(count, (from, to) => queue.addBulk(listed(from, to, n => ({ name: 'blank', data: { n }, opts: options }))))
  return { many, close: () => queue.close() }
}

export const worker = async (url, slots, onJob) => {
  const connection = { url, maxRetriesPerRequest: null }
  const worker = new Worker('bench', async () => onJob(), { connection, concurrency: slots })
  await worker.waitUntilReady()
  return { close: () => worker.close(true) }
}
