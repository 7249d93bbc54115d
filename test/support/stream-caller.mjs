// A caller in a process of its own that reads a stream, and writes each chunk.
import { Hub } from '../../dist/index.js'

const hub = new Hub({ redis: process.env.PSHUB_REDIS, namespace: process.env.PSHUB_NAMESPACE })
for await (const chunk of hub.stream('ticks:1.0', { ms: 50 })) process.stdout.write(`${chunk}\n`)
