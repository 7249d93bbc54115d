// A master that loses its place to its replica, or its replicas, under load: by hand, by FAILOVER, by Sentinel, and cut off with some clients.
import { setTimeout as sleep } from 'node:timers/promises'
import { ChaosProxy } from '../../support/chaos-proxy.mjs'
import {
  addReplica,
  addSentinels,
  exchange,
  handOver,
  masterName,
  sentinelUrl,
  startReplica,
  stopReplica,
  untilPromoted,
} from '../harness/failover.mjs'
import { serverArgs } from '../harness/ground.mjs'
import { unreachable } from './connections.mjs'

const away = [...unreachable, 'NoWorkers', 'WorkerLost']
/** What its replica may not know of a master that died: on one machine, with a replica that follows. */
const unheardMs = 100
/** For so long what had to wait is worked off. */
const calmMs = 5000

const withReplica = { prepare: stage => addReplica(stage, serverArgs), expect: { allowed: away } }

export const withSentinels = {
  async prepare(stage) {
    await addReplica(stage, serverArgs)
    await addSentinels(stage)
  },
  target: ({ sentinels }) => sentinelUrl(sentinels.map(({ port }) => port)),
  // Nobody has a lease where the old one ended before its worker found the new master.
  expect: { allowed: away, unheardMs, falseDeaths: 2, linesPerSecond: 20, calmMs },
}

/** One caller and one worker, the first of each, are on the master's side of what will be cut; the sentinels and the replica on the other. */
const cutOff = {
  ...withSentinels,
  isOwnOnly: true,
  load: { perSecond: 100 },
  async prepare(stage) {
    stage.front = await ChaosProxy.start(stage.port)
    await withSentinels.prepare(stage)
    stage.side = await Promise.all(stage.sentinels.map(({ port }) => ChaosProxy.start(port)))
    stage.parted = [stage.front, ...stage.side]
    stage.others.push(...stage.parted)
  },
  target({ front, side, sentinels, port }, _, place) {
    if (place > 0) return sentinelUrl(sentinels.map(sentinel => sentinel.port))
    const natMap = { [`127.0.0.1:${front.port}`]: { host: '127.0.0.1', port } }
    return { sentinels: side.map(proxy => ({ host: '127.0.0.1', port: proxy.port })), name: masterName, natMap }
  },
  async inject(stage) {
    stage.old = stage.redis.duplicate({ lazyConnect: true })
    await stage.old.connect()
    stage.atEnd(() => stage.old.disconnect())
    stage.journal('unheard', { from: true })
    for (const proxy of stage.parted) proxy.freeze()
    await untilPromoted(stage, [stage.callers[0].name, stage.workers[0].name])
  },
  async heal(stage) {
    for (const proxy of stage.parted) proxy.heal()
    const isReplica = async () => (await stage.old.role())[0] === 'slave'
    // Sentinels wait for ten seconds before they tell a master that it is none.
    if (!(await stage.until(isReplica, 25_000))) throw new Error('the old master goes on')
    stage.journal('unheard', { from: false })
    stage.journal('promoted')
  },
  faultMs: 4000,
}

/** Sentinels find the master gone, and lead everybody to its replica. */
export const killMaster = async stage => {
  stage.journal('unheard', { from: true })
  await stage.stopRedis('SIGKILL')
  stage.journal('unheard', { from: false })
  await untilPromoted(stage)
}

export const promotionRows = [
  {
    ...withReplica,
    id: 'F30',
    title: 'FAILOVER to the replica and back, three times',
    async inject(stage) {
      for (let times = 0; times < 3; times++) {
        await handOver(stage)
        await sleep(2000)
      }
    },
    faultMs: 0,
  },
  {
    ...withSentinels,
    id: 'F30-sentinel',
    title: 'SENTINEL FAILOVER, the old master living on',
    async inject(stage) {
      stage.journal('unheard', { from: true })
      await stage.sentinel.call('SENTINEL', 'FAILOVER', masterName)
      await untilPromoted(stage)
      // Who has not heard of it writes to the old master.
      await sleep(1000)
      stage.journal('unheard', { from: false })
    },
  },
  {
    ...withSentinels,
    id: 'F31',
    title: 'master stopped (SIGSTOP) until Sentinel has another one, then going on',
    async inject(stage) {
      const old = stage.server
      stage.journal('unheard', { from: true })
      old.signal('SIGSTOP')
      await untilPromoted(stage)
      await sleep(1500)
      old.signal('SIGCONT')
      await sleep(1000)
      stage.journal('unheard', { from: false })
    },
  },
  {
    ...withSentinels,
    id: 'F31-killed',
    title: 'master killed, its replica promoted by Sentinel',
    inject: killMaster,
  },
  {
    ...cutOff,
    id: 'F31-cut',
    title: 'master cut off with a caller and a worker, Sentinel promotes its replica; back after 4 s',
  },
  {
    ...cutOff,
    id: 'F31-cut-bounded',
    title: 'the same, and the master refuses writes without a replica (min-replicas-to-write)',
    async prepare(stage) {
      await cutOff.prepare(stage)
      await stage.redis.config('SET', 'min-replicas-max-lag', '1')
      await stage.redis.config('SET', 'min-replicas-to-write', '1')
    },
  },
  {
    ...withReplica,
    id: 'F33',
    title: 'replica promoted by hand, the old master made its replica, three times',
    async inject(stage) {
      for (let times = 0; times < 3; times++) {
        await exchange(stage)
        await sleep(2000)
      }
    },
    faultMs: 0,
    expect: { allowed: away, unheardMs },
  },
  {
    ...withReplica,
    id: 'F34',
    title: 'all replicas gone for 6 s, of a master that goes on',
    inject: async stage => {
      await stopReplica(stage)
      await askForReplica(stage, 'OutcomeUnknown', 2500)
    },
    faultMs: 4000,
    async heal(stage) {
      await startReplica(stage, serverArgs)
      await askForReplica(stage, 'OK', 2000)
    },
    expect: { promised: 'all' },
  },
  {
    ...withReplica,
    id: 'F34-refusing',
    title: 'all replicas gone for 6 s, of a master that refuses writes then (NOREPLICAS)',
    async prepare(stage) {
      await addReplica(stage, serverArgs)
      await stage.redis.config('SET', 'min-replicas-max-lag', '1')
      await stage.redis.config('SET', 'min-replicas-to-write', '1')
    },
    async inject(stage) {
      await stopReplica(stage)
      await sleep(2000)
      await askForReplica(stage, 'NotEnqueued', 2500)
    },
    faultMs: 3000,
    heal: stage => startReplica(stage, serverArgs),
    expect: { allowed: away, falseDeaths: 2, calmMs },
  },
]

/** What a job is told that only a replica can confirm, while there is none. */
const askForReplica = async (stage, expected, withinMs) => {
  // Only those of TypeScript are known to have that.
  if (stage.callerCommand) return
  const stalledBefore = stage.stalledMs
  const { code, message, ...answer } = await stage.callers[0].order('enqueue', { durable: 'replica', timeoutMs: 2000 })
  const ms = answer.ms - (stage.stalledMs - stalledBefore)
  if (code !== expected || ms > withinMs)
    stage.found.push({ invariant: 'durable', what: `${code} after ${Math.round(ms)} ms: ${message}` })
}
