// `lateness.mjs <url>`: a worker of 64 slots that notes how late each job starts, in whole milliseconds, and says so in a line of JSON once all
// of a group have run. In a process of its own: one that has enqueued a million jobs cleans up after itself for a while. Ends at SIGTERM.
import { defineTask, Worker } from '../../dist/index.js'

let late = []
const tasks = [
  defineTask('waits:1.0', {}, () => undefined),
  defineTask('due:1.0', {}, ({ at, group }) => {
    late.push(Date.now() - at)
    if (late.length < group) return
    console.log(JSON.stringify({ late }))
    late = []
  }),
]
const worker = new Worker({
  redis: process.argv[2],
  queue: 'bench',
  tasks,
  slots: 64,
  jobSlots: 64,
  logLevel: 'silent',
})
await worker.start()
console.log(JSON.stringify({ ready: true }))
process.once('SIGTERM', () => worker.stop())
