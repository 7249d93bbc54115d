// `serve.mjs <url>`: a worker of 64 slots, half of them for jobs as nobody says otherwise, until it is told to end.
import { once } from 'node:events'
import { defineTask, Worker } from '../../dist/index.js'

const tasks = [defineTask('blank:1.0', {}, () => undefined)]
const worker = new Worker({ redis: process.argv[2], queue: 'bench', tasks, slots: 64, logLevel: 'silent' })
await worker.start()
process.send('ready')
await once(process, 'message')
await worker.stop()
process.disconnect()
