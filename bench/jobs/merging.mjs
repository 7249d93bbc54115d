// `merging.mjs <url> [hot]`: a worker of merged jobs. Without `hot` it runs for ten seconds and says how many keys it ran; with it, it says how
// late a thousand quiet keys were beside a hot one.
import { defineTask, Worker } from '../../dist/index.js'

const [url, kind] = process.argv.slice(2)
const runMs = 10_000
const quiet = 1000

let started
let count = 0
const keys = defineTask('keys:1.0', { keyed: 'merged', batch: 10 }, byKey => {
  started ??= performance.now()
  count += byKey.size
})

const late = []
let runs = 0
let mostPayloads = 0
const hot = defineTask('hot:1.0', { keyed: 'merged', batch: 10 }, async byKey => {
  const now = Date.now()
  for (const [key, payloads] of byKey) {
    if (key === 'hot') {
      runs++
      mostPayloads = Math.max(mostPayloads, payloads.length)
    } else late.push(now - payloads[0].at)
  }
  if (late.length === quiet) console.log(JSON.stringify({ late, runs, mostPayloads }))
  // So that the hot one is there for as long as the quiet ones come.
  if (byKey.has('hot')) await new Promise(resolve => setTimeout(resolve, 100))
})

const tasks = [kind === 'hot' ? hot : keys]
const worker = new Worker({ redis: url, queue: 'bench', tasks, slots: 64, jobSlots: 64, logLevel: 'silent' })
await worker.start()
console.log(JSON.stringify({ ready: true }))
if (kind !== 'hot')
  setTimeout(() => console.log(JSON.stringify({ ms: performance.now() - (started ?? 0), keys: count })), runMs).unref()
process.once('SIGTERM', async () => {
  await worker.stop()
  process.exit(0)
})
