// `enqueue-later.mjs <url> <from> <until>`: enqueues that part of very many jobs that are due in an hour or two, once there is a line on stdin, and says
// how long that took, and how much arguments it sent, in a line of JSON.
import { once } from 'node:events'
import { Hub } from '../../dist/index.js'

const [url, from, until] = [process.argv[2], ...process.argv.slice(3).map(Number)]
const hourMs = 3600 * 1000
/** More at a time takes memory, and its collection time. */
const perCall = 20_000

const hub = new Hub({ redis: url, logLevel: 'silent' })
await hub.enqueueMany([['waits:1.0', {}, { delayMs: hourMs }]], { queue: 'bench' })
console.log(JSON.stringify({ ready: true }))
await once(process.stdin, 'data')
const started = performance.now()
let payload = 0
for (let at = from; at < until; at += perCall) {
  const part = Array.from({ length: Math.min(perCall, until - at) }, (_, n) => {
    payload += `{"n":${at + n}}`.length
    return ['waits:1.0', { n: at + n }, { delayMs: hourMs + (((at + n) * 7919) % hourMs) }]
  })
  await hub.enqueueMany(part, { queue: 'bench' })
}
const { user, system } = process.cpuUsage()
console.log(JSON.stringify({ ms: performance.now() - started, payload, cpuMs: (user + system) / 1000 }))
await hub.close()
process.exit(0)
