// What is on its way for a while, as over any network, or arrives when its sender has long given up and gone on.
import { functionNamed, loseAnswers, waited } from './connections.mjs'

/** Each way takes half of it, a little more or less. */
const latency = (id, ms, load) => ({
  id,
  title: `${ms} ms between everybody and redis`,
  load: { timeoutMs: 4000, ...load },
  warmMs: 1000,
  inject(stage) {
    for (const proxy of stage.proxies) proxy.delayMs = () => stage.between(0.4 * ms, 0.6 * ms)
  },
  afterMs: 3000,
  expect: { promised: 'all' },
})

const queues = Array.from({ length: 20 }, (_, at) => `q${at}`)

/**
 * Again and again a command of one of these kinds is held on its way, with all that follows it on its connection. Its client gives that up, makes
 * another one and sends it again; then it arrives.
 */
const holdLate = (stage, proxy, texts) =>
  stage.repeat(1000, async () => {
    const text = texts[stage.integer(0, texts.length - 1)]
    proxy.holdFrom = chunk => chunk.includes(text)
  })

/** Each of them must meet a closed connection, and there must have been some. */
const checkLate = proxyOf => stage => {
  const { held, answered, closed } = proxyOf(stage).late
  if (answered > 0)
    return [{ invariant: 'late', what: `${answered} of ${held} commands ran long after they were given up` }]
  return closed > 0 ? [] : [{ invariant: 'stage', what: `nothing came late; ${held} were held` }]
}

const late = (id, title, proxyOf, inject, more) => ({
  id,
  title,
  load: { timeoutMs: 20_000, perSecond: 40 },
  warmMs: 1000,
  faultMs: 9000,
  afterMs: 6000,
  inject,
  expect: { promised: 'all', allowed: waited },
  check: checkLate(proxyOf),
  ...more,
})

const ofCallers = stage => stage.callerProxy
const ofWorkers = stage => stage.workerProxy

export const lateRows = [
  latency('F48-0.5ms', 0.5),
  latency('F48-2ms', 2),
  latency('F48-20ms', 20, { perSecond: 50 }),
  {
    ...latency('F48-queues', 2, { queues, timeoutMs: 6000 }),
    title: 'twenty queues for each worker, 2 ms from redis',
    workerOptions: { queue: queues },
    isOwnOnly: true,
  },
  late(
    'F49-callers',
    "callers' pushes and reads of replies arrive after they were given up",
    ofCallers,
    stage => holdLate(stage, stage.callerProxy, [functionNamed('push'), 'blmove']),
    // What could not be sent for a second.
    {
      // Of a caller both connections may be held.
      load: { timeoutMs: 9000, perSecond: 40 },
      expect: { promised: 'replies', allowed: ['NotEnqueued', ...waited] },
    },
  ),
  late(
    'F49-workers',
    "workers' claims, replies, releases and beats arrive after they were given up",
    ofWorkers,
    stage => {
      const functions = ['claim', 'reply', 'beat'].map(functionNamed)
      holdLate(stage, stage.workerProxy, [...functions, 'rpush', 'hdel'])
    },
    // Two in a row on one connection take longer than a lease of 4 s.
    { workerOptions: { slots: 4, leaseMs: 8000 } },
  ),
  late(
    'F49-handback',
    'claims whose answers are lost; what hands them back arrives after it was given up',
    ofWorkers,
    stage => {
      // It was sent again by then, and what it is about runs.
      stage.workerProxy.lateMs = 1500
      loseAnswers(stage, stage.workerProxy, [functionNamed('claim')], { everyMs: 300, cutAfterMs: 300 })
      holdLate(stage, stage.workerProxy, [functionNamed('handback')])
    },
    {
      load: { timeoutMs: 30_000, perSecond: 20, idempotent: 0.1, special: [{ share: 0.5, ms: [1500, 2500] }] },
      workerOptions: { slots: 16, leaseMs: 8000 },
      faultMs: 12_000,
    },
  ),
]
