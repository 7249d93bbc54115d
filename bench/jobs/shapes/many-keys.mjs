// Very many keys that wait: what each takes, and how long any step of ours keeps Redis from others. And one key with very many payloads beside
// quiet ones: how late these are.
import { join } from 'node:path'
import { quantile } from '../../kit/numbers.mjs'
import { LineMember } from '../members.mjs'
import { openServer } from '../server.mjs'
import { longestSteps, shownSteps } from '../steps.mjs'

/** As many as one call of enqueueMany() takes. */
const perCall = 100_000
const hotPayloads = 100_000
const quietKeys = 1000
const quietMs = 10_000

const { Hub } = await import('../../../dist/index.js')

const keysThatWait = async (server, waiting) => {
  const { redis } = server
  const hub = new Hub({ redis: server.url, logLevel: 'silent' })
  const worker = () => new LineMember(process.execPath, [join(import.meta.dirname, '../merging.mjs'), server.url])
  const declaring = worker()
  await declaring.next()
  await declaring.stop()
  const before = await server.memory()
  await redis.call('SLOWLOG', 'RESET')
  const started = performance.now()
  let payload = 0
  for (let from = 0; from < waiting; from += perCall)
    await hub.enqueueMany(
      Array.from({ length: Math.min(perCall, waiting - from) }, (_, n) => {
        payload += `{"n":${from + n}}`.length
        return ['keys:1.0', { n: from + n }, { key: `order-${from + n}` }]
      }),
    )
  const perSecond = waiting / ((performance.now() - started) / 1000)
  const bytes = ((await server.memory()) - before - payload) / waiting
  const filling = await longestSteps(redis)
  const draining = worker()
  await draining.next()
  const { ms, keys } = await draining.next()
  const emptied = await longestSteps(redis)
  const rest = { hub, draining }
  return { perSecond, bytes, filling, emptied, drained: keys / (ms / 1000), ...rest }
}

const hotKey = async server => {
  const hub = new Hub({ redis: server.url, logLevel: 'silent' })
  const worker = new LineMember(process.execPath, [join(import.meta.dirname, '../merging.mjs'), server.url, 'hot'])
  await worker.next()
  await hub.enqueueMany(Array.from({ length: hotPayloads }, (_, n) => ['hot:1.0', { n }, { key: 'hot' }]))
  const soon = Date.now() + 200
  const at = Array.from({ length: quietKeys }, () => soon + Math.floor(Math.random() * quietMs))
  await hub.enqueueMany(at.map((moment, n) => ['hot:1.0', { at: moment }, { key: `quiet-${n}`, at: moment }]))
  const found = await worker.next()
  await worker.stop()
  await hub.close()
  return found
}

export const manyKeys = async ({ waiting }) => {
  const server = await openServer()
  await server.redis.config('SET', 'slowlog-log-slower-than', 500)
  await server.redis.config('SET', 'slowlog-max-len', 1000)
  const { perSecond, bytes, filling, emptied, drained, hub, draining } = await keysThatWait(server, waiting)
  await draining.stop()
  await hub.close()
  await server.stop()
  const hotServer = await openServer()
  const hot = await hotKey(hotServer)
  await hotServer.stop()
  const [p50, p99, most] = [0.5, 0.99, 1].map(q => quantile(hot.late, q))
  return {
    title: `many-keys: ${waiting} keys wait, each with a payload, and are then run, ten at a time, for ten seconds; a key with ${hotPayloads} payloads`,
    rows: [
      { what: `${waiting} keys come`, 'per s': Math.round(perSecond), 'longest steps in Redis': shownSteps(filling) },
      {
        what: 'ten seconds of running them',
        'per s': Math.round(drained),
        'longest steps in Redis': shownSteps(emptied),
      },
    ],
    notes: [
      `${Math.round(bytes)} bytes per key that waits, beside its payload.`,
      `${quietKeys} quiet keys, each due at a moment of its own within ${quietMs / 1000} s, beside the hot one: late by ${p50} ms (p50), ${p99} ms (p99), ${most} ms (most). ` +
        `The hot one ran ${hot.runs} times meanwhile, with ${hot.mostPayloads} payloads at the most.`,
      'Steps: SLOWLOG, as long as Redis took by the clock, whatever else the machine did.',
    ],
  }
}
