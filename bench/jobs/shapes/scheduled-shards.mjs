// The same as scheduled, of a queue that is spread over three masters: what a node takes of jobs that wait, how long any of its steps is, and how late
// jobs are that come due, a thousand in a second.
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { quantile } from '../../kit/numbers.mjs'
import { openCluster } from '../cluster.mjs'
import { LineMember } from '../members.mjs'
import { longestSteps, shownSteps } from '../steps.mjs'

const masters = 3
/** As many as use two cores beside three servers. */
const loaders = 2
const duePerSecond = 1000
const dueMs = 20_000

const program = (name, ...args) => new LineMember(process.execPath, [join(import.meta.dirname, '..', name), ...args])
const sum = numbers => numbers.reduce((a, b) => a + b, 0)
const each = (nodes, ask) => Promise.all(nodes.map(ask))

const load = async ({ url, nodes }, waiting) => {
  const parts = Array.from({ length: loaders + 1 }, (_, at) => String(Math.round((at * waiting) / loaders)))
  const members = parts.slice(1).map((until, at) => program('enqueue-later.mjs', url, parts[at], until))
  await Promise.all(members.map(member => member.next()))
  await each(nodes, ({ redis }) => redis.call('SLOWLOG', 'RESET'))
  const before = await each(nodes, node => Promise.all([node.memory(), node.cpuMs()]))
  const started = performance.now()
  for (const member of members) member.say()
  const told = await Promise.all(members.map(member => member.next()))
  const ms = performance.now() - started
  const after = await each(nodes, node => Promise.all([node.memory(), node.cpuMs()]))
  const cpuMs = after.map(([, cpu], at) => cpu - before[at][1])
  const bytes = sum(after.map(([memory], at) => memory - before[at][0])) - sum(told.map(({ payload }) => payload))
  await Promise.all(members.map(member => member.ended()))
  return {
    ms,
    bytes: bytes / waiting,
    cpuMs,
    loaderMs: sum(told.map(({ cpuMs: own }) => own)),
    memory: after.map(([memory]) => memory),
  }
}

/** One worker has all of them while they are due. */
const lateness = async ({ url }) => {
  const { Hub } = await import('../../../dist/index.js')
  const hub = new Hub({ redis: url, logLevel: 'silent' })
  const worker = program('lateness.mjs', url)
  await worker.next()
  // It serves all shards from its second beat on.
  await sleep(3000)
  const count = (duePerSecond * dueMs) / 1000
  const soon = Date.now() + 4000
  const moments = Array.from({ length: count }, () => soon + Math.floor(Math.random() * dueMs))
  await hub.enqueueMany(
    moments.map(at => ['due:1.0', { at, group: count }, { at }]),
    { queue: 'bench' },
  )
  const { late } = await worker.next()
  await worker.stop()
  await hub.close()
  return { late, count }
}

export const scheduledShards = async ({ waiting }) => {
  const cluster = await openCluster(masters, 'bench')
  const { nodes } = cluster
  try {
    await each(nodes, ({ redis }) => redis.config('SET', 'slowlog-log-slower-than', 500, 'slowlog-max-len', 1000))
    const filled = await load(cluster, waiting)
    const filling = await each(nodes, ({ redis }) => longestSteps(redis))
    const { late, count } = await lateness(cluster)
    const emptying = await each(nodes, ({ redis }) => longestSteps(redis))
    const [p50, p99, most] = [0.5, 0.99, 1].map(q => quantile(late, q))
    const rows = nodes.map((_, at) => ({
      node: at + 1,
      'memory MB': Math.round(filled.memory[at] / 1e6),
      'cpu s while filled': Number((filled.cpuMs[at] / 1000).toFixed(1)),
      'longest steps while filled': shownSteps(filling[at]),
      'longest steps while due': shownSteps(emptying[at]),
    }))
    return {
      title: `scheduled-shards: ${waiting} jobs of one queue wait for their time, on ${masters} masters`,
      rows,
      notes: [
        `enqueued by ${loaders} processes in ${(filled.ms / 1000).toFixed(0)} s, ${Math.round(waiting / (filled.ms / 1000))}/s; per job ` +
          `${((sum(filled.cpuMs) / waiting) * 1000).toFixed(1)} us of the processor in Redis, ${((filled.loaderMs / waiting) * 1000).toFixed(1)} in who enqueues`,
        `${Math.round(filled.bytes)} bytes per job that waits for its time, beside its arguments`,
        `${count} jobs, ${duePerSecond} in a second at random moments, one worker of 64 slots: late by ${p50} ms (p50), ${p99} ms (p99), ${most} ms (most)`,
        'Steps: SLOWLOG, as long as Redis took by the clock, whatever else the machine did.',
      ],
    }
  } finally {
    await cluster.stop()
  }
}
