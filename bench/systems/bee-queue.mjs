// bee-queue with ids of the caller's own: with ids that Redis gives, a result may come before the caller listens for it.
import { randomUUID } from 'node:crypto'
import BeeQueue from 'bee-queue'

export const startWorker = async ({ url, slots }) => {
  const queue = new BeeQueue('bench', { redis: url, getEvents: false, removeOnSuccess: true })
  queue.process(slots, async job => job.data)
  await queue.ready()
  return { close: () => queue.close(0).catch(() => undefined) }
}

export const startCaller = async ({ url, args }) => {
  const queue = new BeeQueue('bench', { redis: url, isWorker: false, removeOnSuccess: true, storeJobs: true })
  await queue.ready()
  const call = () =>
    new Promise((resolve, reject) => {
      const job = queue.createJob(args).setId(randomUUID())
      job.on('succeeded', resolve)
      job.on('failed', reject)
      job.save().catch(reject)
    })
  return { call, close: () => queue.close(0).catch(() => undefined) }
}
