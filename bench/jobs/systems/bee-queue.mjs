import Queue from 'bee-queue'
import { chunked, listed } from './chunks.mjs'

export const enqueuer = async url => {
  const queue = new Queue('bench', { redis: { url }, isWorker: false, getEvents: false, removeOnSuccess: true })
  await queue.ready()
  const many = count => chunked(count, (from, to) => queue.saveAll(listed(from, to, n => queue.createJob({ n }))))
  return { many, close: () => queue.close() }
}

export const worker = async (url, slots, onJob) => {
  const queue = new Queue('bench', { redis: { url }, getEvents: false, sendEvents: false, removeOnSuccess: true })
  await queue.ready()
  queue.process(slots, async () => onJob())
  return { close: () => queue.close(1000) }
}
