// `enqueue.mjs <system> <url> <count> <first>`: enqueues a first few blank jobs, so that scripts are loaded and code is warm; then, at a
// line on stdin, as many as are wanted. Says so in lines of JSON.
import { once } from 'node:events'

const [name, url, count, first] = process.argv.slice(2)
const { enqueuer } = await import(`./systems/${name}.mjs`)
const { many, close } = await enqueuer(url)
await many(Number(first))
console.log(JSON.stringify({ warm: true }))
await once(process.stdin, 'data')
const started = performance.now()
await many(Number(count))
console.log(JSON.stringify({ ms: performance.now() - started }))
await close()
process.exit(0)
