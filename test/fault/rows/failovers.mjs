// Failovers to a replica that had not heard of everything: what ended just before is not started again.
import { addReplica, addSentinels, cutReplica, masterName, promote, untilPromoted } from '../harness/failover.mjs'
import { serverArgs } from '../harness/stage.mjs'
import { unreachable } from './connections.mjs'

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
  faultMs: 3000,
  afterMs: 7000,
  longestMs: 8000,
  expect: { allowed: away, firstOkMs: 6000, linesPerSecond: 20 },
}

/** What the replica has not heard of when this is over: replies and releases of all that ran. */
const endUnheard = async stage => {
  const calls = Array.from({ length: 8 }, (_, i) =>
    stage.callers[i % stage.callers.length].order('call', {
      idempotent: false,
      ms: 700,
      timeoutMs: 8000,
      act: { do: 'unheard' },
    }),
  )
  const isRunning = async () => (await stage.replica.client.hlen(`pshub:{q}:held:${stage.workerId}`)) >= 8
  stage.workerId = (await stage.redis.zrange('pshub:{q}:leases', 0, 0))[0]
  if (!(await stage.until(isRunning, 3000))) stage.found.push({ invariant: 'stage', what: 'the replica saw no claims' })
  await cutReplica(stage)
  await Promise.all(calls)
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
    id: 'F32-sentinel',
    title: 'the same by Sentinel, when the master is killed',
    isOwnOnly: true,
    async prepare(stage) {
      await addReplica(stage, serverArgs)
      await addSentinels(stage)
    },
    target: ({ sentinels }) => ({
      sentinels: sentinels.map(({ port }) => ({ host: '127.0.0.1', port })),
      name: masterName,
    }),
    async inject(stage) {
      await endUnheard(stage)
      await stage.stopRedis('SIGKILL')
      await untilPromoted(stage)
    },
  },
]
