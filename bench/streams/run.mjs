// npm run bench:streams: how soon the first chunk of a stream comes, beside a call, and what 1,000 chunks of 100 bytes take, beside server
// streaming of @grpc/grpc-js. Interleaved rounds; shown are medians, and medians of the ratios within a round.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { ensureServer, startServer } from '../../tools/redis-server.mjs'
import { machine, machineText } from '../kit/machine.mjs'
import { median } from '../kit/numbers.mjs'
import { prepareBench } from '../kit/prepare.mjs'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '5' },
    chunks: { type: 'string', default: '1000' },
    times: { type: 'string', default: '200' },
  },
})
const [rounds, count, times] = [values.rounds, values.chunks, values.times].map(Number)

prepareBench()
const { Hub } = await import('../../dist/index.js')
const { default: grpc } = await import('@grpc/grpc-js')
const { service } = await import('./grpc-service.mjs')

const server = await startServer()
const children = []
const serve = async name => {
  const child = fork(fileURLToPath(new URL('serve.mjs', import.meta.url)), [name], {
    env: { ...process.env, REDIS: server.url },
  })
  children.push(child)
  const [{ address }] = await once(child, 'message')
  return address
}

await serve('pshub')
const hub = new Hub({ redis: server.url, logLevel: 'silent' })
const Client = grpc.makeGenericClientConstructor(service, 'bench')
const client = new Client(await serve('grpc'), grpc.credentials.createInsecure())

const systems = {
  pshub: { call: () => hub.call('blank:1.0'), stream: length => hub.stream('chunks:1.0', { count: length }) },
  grpc: {
    call: () =>
      new Promise((resolve, reject) => client.blank({}, (error, reply) => (error ? reject(error) : resolve(reply)))),
    stream: length => client.chunks({ count: length }),
  },
}

const timed = async act => {
  const startedAt = performance.now()
  await act()
  return performance.now() - startedAt
}

/** Milliseconds until the first chunk of a short stream, one after the other. */
const firstChunk = async stream => {
  const waits = []
  for (let n = 0; n < times; n++) {
    const startedAt = performance.now()
    for await (const _ of stream(3)) waits[n] ??= performance.now() - startedAt
  }
  return median(waits)
}

/** Microseconds per chunk. */
const perChunk = async stream => {
  const read = async () => {
    let came = 0
    for await (const _ of stream(count)) came++
    if (came !== count) throw new Error(`${came} of ${count} chunks came`)
  }
  const waits = []
  for (let n = 0; n < 15; n++) waits.push(await timed(read))
  return (median(waits) * 1000) / count
}

const round = async ({ call, stream }) => {
  const waits = []
  for (let n = 0; n < times; n++) waits.push(await timed(call))
  return { call: median(waits), first: await firstChunk(stream), chunk: await perChunk(stream) }
}

const found = { pshub: [], grpc: [] }
for (let n = -1; n < rounds; n++)
  for (const [name, system] of Object.entries(systems)) {
    const measured = await round(system)
    // The first round warms both up.
    if (n >= 0) found[name].push(measured)
  }

console.log(machineText(machine(ensureServer())))
const shown = (name, of) => median(found[name].map(of)).toFixed(2)
for (const name of Object.keys(systems))
  console.log(
    `${name.padEnd(6)} call p50 ${shown(name, each => each.call)} ms · first chunk p50 ${shown(name, each => each.first)} ms · ` +
      `${shown(name, each => each.chunk)} us per chunk (${count} of 100 bytes)`,
  )
const ratio = of => median(found.pshub.map((each, at) => of(each, found.grpc[at]))).toFixed(2)
console.log(`first chunk / call of pshub: ${ratio(own => own.first / own.call)}`)
console.log(`per chunk, pshub / gRPC: ${ratio((own, other) => own.chunk / other.chunk)}`)

await hub.close()
client.close()
for (const child of children) child.disconnect()
await server.stop()
