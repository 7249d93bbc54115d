// Your first task: a worker and its caller in one file. In earnest they are processes of their own.
//   PSHUB_REDIS=redis://127.0.0.1:6379 node examples/first-task.mjs
import { defineTask, Hub, Worker } from 'pshub'

const add = defineTask(
  'my_task:1.0',
  {
    description: 'Adds ten.',
    args: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'], additionalProperties: false },
    result: { type: 'object', properties: { x: { type: 'number' } }, required: ['x'] },
    idempotent: true,
  },
  ({ x }) => ({ x: x + 10 }),
)

const worker = new Worker({ queue: 'my_worker', slots: 4, tasks: [add] })
await worker.start()

const hub = new Hub({ name: 'first task' })
console.log(await hub.call('my_task:1.0', { x: 1 }, { timeoutMs: 2000 }))
console.log(await hub.call('my_task:1.0', { x: 'one' }).catch(error => `${error.code}: ${error.message}`))

await hub.close()
await worker.stop()
