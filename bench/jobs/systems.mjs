// How each system enqueues many jobs at once, and runs them.

/** Not more than that many at a time for those that have one promise or one Redis transaction for all. */
const chunk = 1000

const chunked = async (count, act) => {
  for (let from = 0; from < count; from += chunk) await act(from, Math.min(count, from + chunk))
}
const listed = (from, to, make) => Array.from({ length: to - from }, (_, n) => make(from + n))

const pshub = {
  async enqueuer(url) {
    const { Hub } = await import('../../dist/index.js')
    const hub = new Hub({ redis: url, logLevel: 'silent' })
    return {
      many: count =>
        hub.enqueueMany(
          listed(0, count, n => ['blank:1.0', { n }]),
          { queue: 'bench' },
        ),
      close: () => hub.close(),
    }
  },
  async worker(url, slots, onJob) {
    const { Worker, defineTask } = await import('../../dist/index.js')
    const tasks = [defineTask('blank:1.0', {}, () => onJob())]
    const worker = new Worker({ redis: url, queue: 'bench', tasks, slots, jobSlots: slots, logLevel: 'silent' })
    await worker.start()
    return { close: () => worker.stop() }
  },
}

const bullmq = {
  async enqueuer(url) {
    const { Queue } = await import('bullmq')
    const queue = new Queue('bench', { connection: { url, maxRetriesPerRequest: null } })
    await queue.waitUntilReady()
    const options = { removeOnComplete: true }
    return {
      many: count =>
        chunked(count, (from, to) =>
          queue.addBulk(listed(from, to, n => ({ name: 'blank', data: { n }, opts: options }))),
        ),
      close: () => queue.close(),
    }
  },
  async worker(url, slots, onJob) {
    const { Worker } = await import('bullmq')
    const connection = { url, maxRetriesPerRequest: null }
    const worker = new Worker('bench', async () => onJob(), { connection, concurrency: slots })
    await worker.waitUntilReady()
    return { close: () => worker.close(true) }
  },
}

const bee = {
  async enqueuer(url) {
    const { default: Queue } = await import('bee-queue')
    const queue = new Queue('bench', { redis: { url }, isWorker: false, getEvents: false, removeOnSuccess: true })
    await queue.ready()
    return {
      many: count => chunked(count, (from, to) => queue.saveAll(listed(from, to, n => queue.createJob({ n })))),
      close: () => queue.close(),
    }
  },
  async worker(url, slots, onJob) {
    const { default: Queue } = await import('bee-queue')
    const queue = new Queue('bench', { redis: { url }, getEvents: false, sendEvents: false, removeOnSuccess: true })
    await queue.ready()
    queue.process(slots, async () => onJob())
    return { close: () => queue.close(1000) }
  },
}

export const jobSystems = { pshub, bullmq, 'bee-queue': bee }
