// A worker, a hub and one call in a process that finds pshub by its name: `node one-call.mjs <redis url> <namespace>`.
import { createRequire } from 'node:module'
import { defineTask, Hub, Worker } from 'pshub'

let isInstalled = true
try {
  createRequire(import.meta.url).resolve('@opentelemetry/api')
} catch {
  isInstalled = false
}
const [redis, namespace] = process.argv.slice(2)
const inner = defineTask('inner:1.0', {}, () => 'in')
const outer = defineTask('outer:1.0', {}, (_, ctx) => ctx.call('inner:1.0'))
const worker = new Worker({ redis, namespace, queue: 'q', tasks: [inner, outer] })
await worker.start()
const hub = new Hub({ redis, namespace })
const result = await hub.call(
  'outer:1.0',
  {},
  { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
)
await hub.close()
await worker.stop()
process.stdout.write(JSON.stringify({ isInstalled, result }))
