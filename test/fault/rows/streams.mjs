// Faults in the middle of streams. Each of their chunks comes once and in order, or the stream fails in a class of its row.
import { setTimeout as sleep } from 'node:timers/promises'
import { moveLoadedSlots, onCluster } from './clusters.mjs'
import { loseAnswers, unreachable } from './connections.mjs'
import { killMaster, withSentinels } from './promotions.mjs'
import { busiest, startLongCalls, times } from './workers.mjs'

/** Calls, and streams of up to three windows, some of them as fast as they can. */
const mixed = (more = {}) => ({
  timeoutMs: 15_000,
  perSecond: 24,
  special: [{ share: 0.5, stream: { count: [0, 700], everyMs: [0, 4] } }],
  ...more,
})
const onStreams = { load: mixed(), workerOptions: { slots: 12 }, longestMs: 15_000 }

/** Streams that go on for seconds. */
const long = (stream, timeoutMs = 15_000) => ({
  idempotent: false,
  ms: 0,
  timeoutMs,
  stream: { count: 100_000, everyMs: 10, ...stream },
})

const away = [...unreachable, 'NoWorkers', 'WorkerLost']

/** What callers said of streams is gone with these. */
const leftWords = async stage => {
  const servers = await stage.masters()
  const keys = (await Promise.all(servers.map(redis => redis.keys('pshub:reply:*:taken:*')))).flat()
  return keys.map(key => ({ invariant: 'I12', what: `${key} was left behind` }))
}

export const streamRows = [
  {
    ...onStreams,
    ...withSentinels,
    id: 'F31-streams',
    title: 'master killed in the middle of streams, its replica promoted by Sentinel',
    async inject(stage) {
      await startLongCalls(stage, times(6, long({ count: 900, everyMs: 5 })))
      await sleep(300)
      await killMaster(stage)
    },
    check: leftWords,
  },
  {
    ...onStreams,
    ...onCluster,
    id: 'F35-streams',
    title: 'loaded slots moved from node to node in the middle of streams',
    faultMs: 8000,
    inject: moveLoadedSlots,
    check: leftWords,
    expect: { promised: 'all' },
  },
  {
    ...onStreams,
    id: 'F05-streams',
    title: 'chunks pushed, their answers lost; and so the words of what was taken',
    faultMs: 6000,
    inject(stage) {
      loseAnswers(stage, stage.workerProxy, ['rpush'])
      loseAnswers(stage, stage.callerProxy, [':taken:'])
    },
    check: leftWords,
    expect: { promised: 'all' },
  },
  {
    ...onStreams,
    id: 'F07-streams',
    title: 'all connections reset twice a second, in the middle of streams',
    faultMs: 8000,
    inject: stage =>
      stage.repeat(500, async () => {
        for (const proxy of stage.proxies) proxy.cut()
      }),
    check: leftWords,
    expect: { promised: 'all', reconnectsPerSecond: 8 },
  },
  {
    ...onStreams,
    id: 'F13-streams',
    title: 'redis killed in the middle of streams, back on its append-only file',
    faultMs: 3500,
    async inject(stage) {
      await startLongCalls(stage, times(6, long({ count: 900, everyMs: 3 })))
      await sleep(500)
      await stage.stopRedis('SIGKILL')
    },
    heal: stage => stage.startRedis(),
    check: leftWords,
    expect: { allowed: away },
  },
  {
    ...onStreams,
    id: 'F27-streams',
    title: 'reply lists deleted with chunks in them that nobody has read',
    load: mixed({ timeoutMs: 6000 }),
    faultMs: 0,
    async inject(stage) {
      await startLongCalls(stage, times(8, long({ count: 200, everyMs: 10 }, 6000)))
      await sleep(300)
      stage.callerProxy.freeze()
      await sleep(500)
      const lists = (await stage.redis.keys('pshub:reply:*')).filter(key => key.endsWith('}'))
      await stage.redis.unlink(...lists)
    },
    check: leftWords,
    // A call whose reply was in there waits until its deadline.
    expect: { allowed: unreachable, anyRecovery: true },
  },
  {
    ...onStreams,
    id: 'F37-streams',
    title: 'worker killed in the middle of streams',
    // Of three windows, and half of the slots are gone for a while.
    load: mixed({ perSecond: 12 }),
    faultMs: 6000,
    async inject(stage) {
      await startLongCalls(stage, times(10, long({ count: 600 })))
      await sleep(300)
      await stage.kill(busiest(stage))
    },
    heal: stage => stage.addWorker(),
    check: leftWords,
    expect: { allowed: ['WorkerLost', 'Overloaded'] },
  },
  {
    ...onStreams,
    id: 'F38-streams',
    title: 'worker stopped for two leases in the middle of streams',
    load: mixed({ timeoutMs: 20_000, perSecond: 12 }),
    workers: 3,
    longestMs: 30_000,
    faultMs: 9000,
    afterMs: 8000,
    async inject(stage) {
      await startLongCalls(stage, times(10, long({}, 30_000)))
      await sleep(300)
      stage.asleep = busiest(stage)
      stage.signal(stage.asleep, 'SIGSTOP')
    },
    heal: stage => stage.signal(stage.asleep, 'SIGCONT'),
    check: leftWords,
    // Those of the other worker end by their deadline.
    expect: {
      allowed: ['WorkerLost', 'Overloaded'],
      allowedFor: ({ stream }) => (stream?.count === 100_000 ? ['WorkerLost', 'Timeout'] : undefined),
      blocksWorkers: true,
      unreadMs: 3000,
    },
  },
  {
    ...onStreams,
    id: 'F41-streams',
    title: 'readers that leave early, rest, are slow, or read nothing',
    load: mixed({
      timeoutMs: 4000,
      special: [
        // On a busy machine a pause of 4 ms takes twice as long, and they are to be at their end in time.
        { share: 0.2, stream: { count: [0, 250], everyMs: [0, 4] } },
        { share: 0.1, stream: { count: [100_000, 100_000], everyMs: [0, 4], take: 5 } },
        { share: 0.1, stream: { count: [600, 700], restMs: 1500 } },
        { share: 0.1, stream: { count: [50, 200], pauseMs: 5 } },
        { share: 0.03, stream: { count: [100_000, 100_000], everyMs: [0, 4], isDeaf: true } },
      ],
    }),
    inject: () => undefined,
    check: leftWords,
    expect: { promised: 'all', isRight: ({ stream, code }) => (stream?.isDeaf ? code === 'Timeout' : undefined) },
  },
  {
    ...onStreams,
    id: 'F42-asleep',
    // What it has not said of a stream by then is missed after 10 s, and said of each within 3 s.
    title: 'caller stopped for 6 s in the middle of streams',
    // Half of the slots: streams of the usual load fill them on a machine that is two thirds as fast, and what waits behind them times out.
    load: mixed({ timeoutMs: 30_000, perSecond: 12 }),
    longestMs: 30_000,
    faultMs: 6000,
    async inject(stage) {
      await startLongCalls(stage, times(6, long({ count: 1500, everyMs: 5 }, 30_000)))
      await sleep(300)
      stage.signal(stage.callers[0], 'SIGSTOP')
    },
    heal: stage => stage.signal(stage.callers[0], 'SIGCONT'),
    check: leftWords,
    expect: { promised: 'all' },
  },
  {
    ...onStreams,
    id: 'F42-streams',
    title: 'callers killed in the middle of streams, or before; others wait for a first chunk for 20 s',
    load: mixed({ perSecond: 10 }),
    faultMs: 26_000,
    isStretched: true,
    async inject(stage) {
      await startLongCalls(stage, [
        ...times(4, long({}, 60_000)),
        ...times(4, long({ restMs: 60_000 }, 60_000)),
        ...times(2, long({ firstMs: 60_000 }, 60_000)),
      ])
      await sleep(1500)
      const killed = stage.callers.slice()
      await Promise.all([stage.addCaller(), stage.addCaller()])
      await Promise.all(killed.map(caller => stage.kill(caller)))
      const thinking = { ...long({ count: 300, everyMs: 1, firstMs: 20_000 }, 40_000), act: { do: 'think' } }
      for (const caller of stage.callers) void caller.order('call', thinking)
      await stage.load(stage.row.load)
    },
    check: leftWords,
    expect: { promised: 'all', reconnectsPerSecond: 20, isRight: ({ act, code }) => (act ? code === 'OK' : undefined) },
  },
]
