// npm run test:faults:loss: what a promoted replica lacks of what its master had acknowledged when it was killed.
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { prepare } from '../../tools/prepare.mjs'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { addReplica } from './harness/failover.mjs'
import { Ground, serverArgs } from './harness/ground.mjs'

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '10' },
    rates: { type: 'string', default: '200,2000' },
    lags: { type: 'string', default: '0,10,100' },
    help: { type: 'boolean', default: false },
  },
})
if (values.help) {
  console.log(`npm run test:faults:loss -- [options]
  --kills 10        of a master, for each row of the table
  --rates 200,2000  jobs or calls per second
  --lags 0,10,100   milliseconds by which the replica is behind: what the link to it takes one way`)
  process.exit(0)
}
prepare()
const { defineTask, Hub, Worker } = await import('../../dist/index.js')

const kinds = ['jobs', "jobs, durable: 'replica'", 'calls']
const task = 'work:1.0'

/** Sends at this rate until it is told to stop; `acknowledged` has what was, and when. */
const startSending = async (hub, kind, perSecond) => {
  const acknowledged = []
  const took = []
  const durable = kind.includes('durable') ? { durable: 'replica' } : {}
  // A call is in Redis when its push was answered; one push may be of several.
  if (kind === 'calls')
    hub.events.on('queue:pushed', ({ count }) => {
      for (let n = 0; n < count; n++) acknowledged.push({ id: acknowledged.length, at: performance.now() })
    })
  const send = async () => {
    if (kind === 'calls') return hub.call(task, {}, { timeoutMs: 20_000 })
    const startedAt = performance.now()
    const { id } = await hub.enqueue(task, {}, { queue: 'q', ...durable })
    const at = performance.now()
    acknowledged.push({ id, at })
    took.push(at - startedAt)
  }
  let sent = 0
  const startedAt = performance.now()
  const timer = setInterval(() => {
    for (const due = ((performance.now() - startedAt) / 1000) * perSecond; sent < due; sent++)
      send().catch(() => undefined)
  }, 2)
  return { acknowledged, took, stop: () => clearInterval(timer) }
}

/** Calls are refused without a worker; this one takes none, so that what waits can be counted. */
const pausedWorker = async (redis, hub) => {
  const worker = new Worker({ redis, queue: 'q', tasks: [defineTask(task, {}, () => null)], logLevel: 'silent' })
  const paused = new Promise(resolve => worker.events.on('queue:paused', resolve))
  await worker.start()
  await hub.pause('q')
  await paused
  return worker
}

/** One master, killed under load: what of what it had acknowledged its replica has. */
const killOnce = async (kind, perSecond, lagMs) => {
  const ground = new Ground()
  await ground.stand({ proxies: 0 })
  ground.front = await ChaosProxy.start(ground.port)
  ground.others.push(ground.front)
  await addReplica(ground, serverArgs)
  if (lagMs > 0) ground.front.delayMs = () => lagMs
  const redis = ground.server.url
  const hub = new Hub({ redis, logLevel: 'silent', maxBacklog: 1_000_000 })
  const worker = kind === 'calls' ? await pausedWorker(redis, hub) : undefined
  const sending = await startSending(hub, kind, perSecond)
  await sleep(1500 + Math.random() * 300)
  const killedAt = performance.now()
  ground.server.signal('SIGKILL')
  await ground.server.exited
  sending.stop()
  const { client } = ground.replica
  // What had left the master before it died is still read.
  await sleep(50)
  await client.call('REPLICAOF', 'NO', 'ONE')
  const list = `pshub:{q}:${kind === 'calls' ? 'calls' : 'jobs'}`
  const there = await client.lrange(list, 0, -1)
  const ids = new Set(there.map(text => /"id":"([\w-]+)"/.exec(text)[1]))
  const { acknowledged, took } = sending
  const lost = kind === 'calls' ? acknowledged.slice(there.length) : acknowledged.filter(({ id }) => !ids.has(id))
  await Promise.all([hub.close(), worker?.stop({ graceMs: 0 })])
  await ground.clear()
  return { acknowledged: acknowledged.length, lost: lost.length, backMs: lost.length ? killedAt - lost[0].at : 0, took }
}

const middleOf = numbers => numbers.sort((a, b) => a - b)[Math.floor(numbers.length / 2)]

console.log(
  '| per second | the replica is behind by | what | acknowledged | lost | most by one kill | the first of them, before the kill | enqueued in |',
)
console.log('| --- | --- | --- | --- | --- | --- | --- | --- |')
for (const perSecond of values.rates.split(',').map(Number))
  for (const lagMs of values.lags.split(',').map(Number))
    for (const kind of kinds) {
      const kills = []
      while (kills.length < Number(values.kills)) kills.push(await killOnce(kind, perSecond, lagMs))
      const sum = kills.reduce((all, { acknowledged }) => all + acknowledged, 0)
      const lost = kills.map(each => each.lost)
      const took = kills.flatMap(each => each.took)
      const cells = [
        perSecond,
        `${lagMs} ms`,
        kind,
        sum,
        lost.reduce((all, each) => all + each, 0),
        Math.max(...lost),
        `${Math.max(...kills.map(({ backMs }) => backMs)).toFixed(0)} ms`,
        took.length ? `${middleOf(took).toFixed(1)} ms` : '',
      ]
      console.log(`| ${cells.join(' | ')} |`)
    }
process.exit(0)
