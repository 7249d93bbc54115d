// The same 20 ms task behind pshub and behind BullMQ's waitUntilFinished, for `npm run bench:overload`.
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker as BullWorker, Queue, QueueEvents } from 'bullmq'
import { defineTask, Hub, Worker } from '../../dist/index.js'

const taskMs = 20
const deadlineMs = 1000

/** Both tell the parent process of each start that came after its caller's deadline. */
const note = (counts, startedBy) => {
  counts.starts++
  if (Date.now() > startedBy) counts.lateStarts++
}

const pshub = {
  worker: async (redis, slots, counts) => {
    const wait = defineTask('wait:1.0', { timeoutMs: deadlineMs }, async ({ by }) => {
      note(counts, by)
      await sleep(taskMs)
      return null
    })
    const worker = new Worker({ redis, queue: 'overload', slots, tasks: [wait], logLevel: 'error' })
    await worker.start()
    return () => worker.stop()
  },
  caller: async (redis, count) => {
    const hubs = Array.from({ length: count }, () => new Hub({ redis, logLevel: 'error' }))
    let made = 0
    return {
      call: () => hubs[made++ % count].call('wait:1.0', { by: Date.now() + deadlineMs }, { timeoutMs: deadlineMs }),
      isRefusal: error => error.code === 'Overloaded',
      close: () => Promise.all(hubs.map(hub => hub.close())),
    }
  },
}

const bullmq = {
  worker: async (redis, slots, counts) => {
    const connection = { url: redis, maxRetriesPerRequest: null }
    const run = async job => {
      note(counts, job.data.by)
      await sleep(taskMs)
      return null
    }
    const worker = new BullWorker('overload', run, { connection, concurrency: slots })
    await worker.waitUntilReady()
    return () => worker.close()
  },
  caller: async redis => {
    const connection = { url: redis, maxRetriesPerRequest: null }
    const queue = new Queue('overload', { connection })
    const events = new QueueEvents('overload', { connection })
    await events.waitUntilReady()
    const options = { removeOnComplete: true, removeOnFail: true }
    return {
      call: async () => {
        const by = Date.now() + deadlineMs
        const job = await queue.add('wait', { by }, options)
        return job.waitUntilFinished(events, Math.max(1, by - Date.now()))
      },
      isRefusal: () => false,
      close: () => Promise.all([queue.close(), events.close()]),
    }
  },
}

export const systems = { pshub, bullmq }
