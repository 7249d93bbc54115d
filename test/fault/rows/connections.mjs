// Faults of the wire between Redis and callers or workers.
import { setTimeout as sleep } from 'node:timers/promises'

/** Ids of the connections whose name begins so: pshub-hub-blocking, pshub-worker-commands and so on. */
const clientsNamed = async (redis, name) =>
  String(await redis.client('LIST'))
    .split('\n')
    .filter(line => line.includes(` name=${name}`))
    .map(line => /id=(\d+)/.exec(line)[1])

export const killClients = async (redis, name) => {
  const ids = await clientsNamed(redis, name)
  await Promise.all(ids.map(id => redis.client('KILL', 'ID', id)))
  return ids.length
}

/** As the functions of the library are named in commands. */
export const functionNamed = operation => `pshub_1_${operation}`

/** Again and again: a command of one of these kinds runs, its answer is lost, and its connection is cut a moment later. */
export const loseAnswers = (stage, proxy, texts, { everyMs = 400, cutAfterMs = 100 } = {}) =>
  stage.repeat(everyMs, async () => {
    proxy.deafenAfter = chunk => texts.some(text => chunk.includes(text))
    await sleep(cutAfterMs)
    proxy.cutDeaf()
  })

/** What calls may end as when they wait for too long, or would have to: late, or refused because of that. */
export const waited = ['Timeout', 'Expired', 'Overloaded']

/** What calls may end as when Redis cannot be reached: not sent, sent and not confirmed, confirmed and not answered. */
export const unreachable = ['NotEnqueued', 'OutcomeUnknown', ...waited]

const drop = proxy => {
  proxy.dropToServer = true
  proxy.dropToClient = true
}

export const connectionRows = [
  {
    id: 'F01',
    title: "callers' blocking sockets killed 5 times a second",
    inject: stage => stage.repeat(200, () => killClients(stage.redis, 'pshub-hub-blocking')),
    expect: { promised: 'all', reconnectsPerSecond: 8 },
  },
  {
    id: 'F02',
    title: 'replies read, their bytes lost, socket cut',
    inject: stage => loseAnswers(stage, stage.callerProxy, ['blmove']),
    expect: { promised: 'all' },
  },
  {
    id: 'F03',
    title: 'pushes done, their answers lost, socket cut',
    inject: stage => loseAnswers(stage, stage.callerProxy, [functionNamed('push')]),
    expect: { promised: 'all' },
  },
  {
    id: 'F04',
    title: 'claims done, their answers lost, worker alive',
    // What a claim took whose answer was lost is found by the worker's second look, some 3 s later.
    load: { timeoutMs: 8000, perSecond: 100 },
    afterMs: 8000,
    inject: stage => loseAnswers(stage, stage.workerProxy, [functionNamed('claim')], { everyMs: 1500 }),
    expect: { promised: 'all' },
  },
  {
    id: 'F05',
    title: 'replies and releases done, their answers lost',
    inject: stage => loseAnswers(stage, stage.workerProxy, ['hdel']),
    load: { timeoutMs: 8000, perSecond: 100 },
    expect: { promised: 'all' },
  },
  {
    id: 'F06',
    title: 'half-open for 10 s: nothing passes, what was under way comes late',
    faultMs: 10_000,
    inject(stage) {
      for (const proxy of stage.proxies) proxy.freeze()
    },
    expect: { allowed: [...unreachable, 'NoWorkers', 'WorkerLost'] },
  },
  {
    id: 'F06-callers',
    title: 'black hole in front of callers',
    faultMs: 5000,
    inject: stage => drop(stage.callerProxy),
    expect: { allowed: unreachable },
  },
  {
    id: 'F06-workers',
    title: 'black hole in front of workers',
    faultMs: 8000,
    inject: stage => drop(stage.workerProxy),
    expect: { allowed: [...waited, 'NoWorkers', 'WorkerLost'] },
  },
  {
    id: 'F07',
    title: 'all connections reset twice a second',
    load: { timeoutMs: 8000, perSecond: 100 },
    faultMs: 10_000,
    inject: stage =>
      stage.repeat(500, async () => {
        for (const proxy of stage.proxies) proxy.cut()
      }),
    expect: { promised: 'all', reconnectsPerSecond: 8 },
  },
  {
    id: 'F08',
    title: 'connections accepted and closed for 5 s',
    faultMs: 5000,
    inject(stage) {
      for (const proxy of stage.proxies) {
        proxy.refuse = true
        proxy.cut()
      }
    },
    expect: { allowed: [...unreachable, 'NoWorkers', 'WorkerLost'] },
  },
  {
    id: 'F10',
    title: 'slow network: 100 to 300 ms each way',
    // Each claim takes a round trip, so two workers of four slots serve some 16 calls a second.
    load: { timeoutMs: 5000, perSecond: 8 },
    faultMs: 8000,
    inject(stage) {
      for (const proxy of stage.proxies) proxy.delayMs = () => stage.between(100, 300)
    },
    // A push waits for the answer of the one before, and no request waits for longer than a second to be sent.
    expect: { allowed: ['NotEnqueued', ...waited] },
  },
  {
    id: 'F11',
    title: 'large requests cut off in the middle',
    load: { timeoutMs: 8000, perSecond: 60, special: [{ share: 0.1, chars: [200_000, 900_000] }] },
    faultMs: 6000,
    inject(stage) {
      stage.callerProxy.cutInside = chunk =>
        chunk.length > 10_000 && stage.chance(0.05) ? stage.integer(1, chunk.length - 1) : undefined
    },
    // What waits behind a large request that is cut off again and again is not sent.
    expect: { allowed: unreachable },
  },
]
