// BullMQ as its documentation has it for awaiting a job's result: QueueEvents and waitUntilFinished.
import { Queue, QueueEvents, Worker } from 'bullmq'

/** Not removed at once: waitUntilFinished looks a job up when it begins to wait, and rejects when it is gone by then. */
const kept = { removeOnComplete: { count: 5000 }, removeOnFail: { count: 5000 } }

export const startWorker = async ({ url, slots }) => {
  const connection = { url, maxRetriesPerRequest: null }
  const worker = new Worker('bench', async job => job.data, { connection, concurrency: slots })
  await worker.waitUntilReady()
  return { close: () => worker.close(true) }
}

export const startCaller = async ({ url, args }) => {
  const connection = { url, maxRetriesPerRequest: null }
  const queue = new Queue('bench', { connection })
  const events = new QueueEvents('bench', { connection })
  // It listens once per waiting call.
  for (const emitter of [queue, events]) emitter.setMaxListeners(0)
  await events.waitUntilReady()
  const call = async () => {
    const job = await queue.add('blank', args, kept)
    return job.waitUntilFinished(events, 20_000)
  }
  return { call, close: () => Promise.all([queue.close(), events.close()]) }
}
