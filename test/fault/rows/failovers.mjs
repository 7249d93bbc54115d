// Failovers to a replica that had not heard of everything: what ended just before is not started again.
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { addReplica, addSentinels, cutReplica, promote, sentinelUrl, untilPromoted } from '../harness/failover.mjs'
import { serverArgs } from '../harness/ground.mjs'
import { killClients, unreachable } from './connections.mjs'

/** Both that settle calls and that take them back lose what the replica had not heard of. */
const away = [...unreachable, 'NoWorkers', 'WorkerLost']

/**
 * Calls that run when the link is cut and end behind that: for the replica they are held by their worker for ever. There is one
 * worker, so that all there is to know is known to it.
 */
const failover = {
  workers: 1,
  workerOptions: { slots: 8 },
  load: { perSecond: 20, ms: [100, 400] },
  warmMs: 1000,
  faultMs: 2000,
  afterMs: 7000,
  longestMs: 8000,
  expect: { allowed: away, firstOkMs: 6000, linesPerSecond: 20 },
}

/** What the replica has not heard of when this is over: replies and releases of all that ran. */
const endUnheard = async stage => {
  const calls = Array.from({ length: 8 }, (_, i) =>
    stage.callers[i % stage.callers.length].order('call', {
      idempotent: false,
      ms: 2000,
      timeoutMs: 8000,
      act: { do: 'unheard' },
    }),
  )
  const isRunning = async () => (await stage.replica.client.hlen(`pshub:{q}:held:${stage.workerId}`)) >= 8
  stage.workerId = (await stage.redis.zrange('pshub:{q}:leases', 0, 0))[0]
  if (!(await stage.until(isRunning, 10_000)))
    stage.found.push({ invariant: 'stage', what: 'the replica saw no claims' })
  await cutReplica(stage)
  await Promise.all(calls)
}

/** Somebody who accepts and never says a word. */
const startDeaf = async stage => {
  const sockets = new Set()
  const server = createServer(socket => {
    sockets.add(socket)
    socket.on('error', () => undefined)
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', resolve))
  stage.atEnd(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return server.address()
}

export const failoverRows = [
  {
    ...failover,
    id: 'F32',
    title: 'replica promoted by hand, its link cut while calls ended',
    prepare: stage => addReplica(stage, serverArgs),
    async inject(stage) {
      await endUnheard(stage)
      await promote(stage)
    },
  },
  {
    ...failover,
    id: 'F32-library',
    title: 'the same, and the replica had not got the library yet',
    prepare: stage => addReplica(stage, serverArgs),
    async inject(stage) {
      await endUnheard(stage)
      await promote(stage)
      await stage.replica.client.function('FLUSH')
    },
  },
  {
    ...failover,
    id: 'F32-sentinel',
    title: 'the same by Sentinel, when the master is killed',
    async prepare(stage) {
      await addReplica(stage, serverArgs)
      await addSentinels(stage)
    },
    target: ({ sentinels }) => sentinelUrl(sentinels.map(({ port }) => port)),
    async inject(stage) {
      await endUnheard(stage)
      await stage.stopRedis('SIGKILL')
      await untilPromoted(stage)
    },
  },
  {
    id: 'F31-deaf',
    title: 'a sentinel that accepts and never answers, before healthy ones, as all connections are killed',
    // It is there from the start: the first calls cannot be sent either.
    warmMs: 0,
    faultMs: 6000,
    async prepare(stage) {
      await addReplica(stage, serverArgs)
      await addSentinels(stage)
      stage.deaf = await startDeaf(stage)
    },
    target: ({ sentinels, deaf }) => sentinelUrl([deaf.port, ...sentinels.map(({ port }) => port)]),
    async inject(stage) {
      await sleep(4000)
      await killClients(stage.redis, 'pshub-')
    },
    expect: { allowed: away, falseDeaths: 2 },
  },
]
