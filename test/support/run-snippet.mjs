// Runs one code block of README or docs/: `node run-snippet.mjs block.mjs`. What the block speaks of without making it is here.
import { pathToFileURL } from 'node:url'
import { defineTask, Hub, TaskError, Worker } from 'pshub'

const redis = process.env.PSHUB_REDIS
const anything = { type: 'object' }
const resize = defineTask('resize:1.0', { args: anything }, args => args)
const sun = defineTask('sun_times:1.0', {}, () => ({ rises: '06:12' }))
const facts = defineTask('city_facts:1.0', {}, ({ id }) => ({ id }))
const named = defineTask('name:1.0', {}, args => args)
const report = defineTask('report:1.0', {}, args => ({ pages: 3, ...args }))
const sales = defineTask('sales:1.0', {}, () => ({ sum: 7 }))
const mail = defineTask('send_mail:1.0', {}, ({ to }) => `sent to ${to}`)
const tasks = [resize, sun, facts, named, report, sales, mail]
const worker = new Worker({ redis, queue: 'others', tasks, logLevel: 'silent' })
const production = new Worker({ redis, queue: 'prod', tasks: [named], logLevel: 'silent' })
const hub = new Hub({ redis, logLevel: 'silent' })
await Promise.all([worker.start(), production.start()])

const response = {
  written: [],
  setHeader: () => response,
  writeHead: () => response,
  end: text => void response.written.push(text),
  once: () => response,
}
const nothing = () => undefined
Object.assign(globalThis, {
  ...{ hub, worker, redis, defineTask, TaskError, Worker, resize, report, response },
  ...{ args: { width: 4000, height: 3000, box: 800 }, body: { width: 1, height: 1, box: 1 }, id: 7, options: {} },
  ...{ request: { headers: {}, signal: new AbortController().signal }, url: 'http://127.0.0.1' },
  ...{ show: nothing, showGap: nothing, scale: nothing, slowest: { offer: nothing } },
})
await import(pathToFileURL(process.argv[2]).href)
await hub.close()
await Promise.all([worker.stop(), production.stop()])
// A server that the block has opened listens on.
process.exit(0)
