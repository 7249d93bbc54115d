// A worker in a process of its own whose task runs under a lock: it says when it has it. Arguments: Redis, namespace, lease.
import { defineTask, noOverlap, Worker } from '../../dist/index.js'

const [redis, namespace, leaseMs] = process.argv.slice(2)
const task = defineTask('alone:1.0', { timeoutMs: 60_000 }, async () => {
  process.stdout.write('running\n')
  await new Promise(resolve => setTimeout(resolve, 60_000))
})
const worker = new Worker({ redis, namespace, queue: 'q', slots: 1, tasks: [task] })
worker.use(noOverlap({ leaseMs: Number(leaseMs) }))
await worker.start()
