// Prints with what calls failed in an outage, and how many bytes they left in use. Given: the URL of a Redis that is cut once
// this has written a line, and a namespace. In a process of its own, because it measures that process. Needs --expose-gc.
import { once } from 'node:events'
import { Hub } from '../../dist/index.js'

const [redis, namespace] = process.argv.slice(2)
const hub = new Hub({ redis, namespace, logLevel: 'silent' })

/** Bytes in use once all is gone that nobody refers to. */
const usedBytes = async () => {
  for (let turn = 0; turn < 5; turn++) {
    await new Promise(resolve => setImmediate(resolve))
    globalThis.gc()
  }
  return process.memoryUsage().heapUsed
}

await hub.call('a:1.0')
console.log('ready')
await once(process.stdin, 'data')
const before = await usedBytes()
const codes = new Set()
for (let rounds = 0; rounds < 3; rounds++)
  await Promise.all(
    Array.from({ length: 1000 }, (_, n) =>
      hub.call('a:1.0', `${n}`.padEnd(20_000, 'x'), { timeoutMs: 200 }).catch(error => codes.add(error.code)),
    ),
  )
console.log(JSON.stringify({ codes: [...codes], bytes: (await usedBytes()) - before }))
await hub.close()
process.exit(0)
