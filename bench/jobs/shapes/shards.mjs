// One queue on three masters beside one on a single one: what a call and a job cost the servers together, and how evenly they share that.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startMember } from '../../kit/members.mjs'
import { median } from '../../kit/numbers.mjs'
import { openCluster } from '../cluster.mjs'
import { LineMember } from '../members.mjs'
import { firstJobs } from '../systems.mjs'

/**
 * What is measured: `parts` that are loaded at the same time, each with so many masters, which share callers and workers. Three queues, of
 * which each is on a master of its own, tell what three servers cost on a machine that is too small for them, however a queue lies there.
 */
const kinds = [
  { name: 'one queue on one master', parts: 1, masters: 1 },
  { name: 'three queues, each on a master of its own', parts: 3, masters: 1 },
  { name: 'one queue on three masters', parts: 1, masters: 3 },
]
/** The replies of each caller are on one node, drawn by its id: of few callers one node would have most. */
const callers = 12
const workers = 3
const enqueuers = 3
/**
 * Of each caller on each node: less would be smaller writes, whoever they go to. Not as many as a worker has slots: there each claim of a lone
 * master would bring all that one caller had sent, again and again.
 */
const inFlight = 50
const loadMs = 5000
const queue = 'bench'

const sum = numbers => numbers.reduce((a, b) => a + b, 0)

/** A Cluster with workers and callers of its own. */
const openPart = async ({ parts, masters }) => {
  const cluster = await openCluster(masters, queue)
  const serving = Array.from({ length: workers / parts }, () =>
    fork(join(import.meta.dirname, '../serve.mjs'), [cluster.url], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }),
  )
  await Promise.all(serving.map(child => once(child, 'message')))
  const start = () => startMember('bench/kit/process.mjs', ['caller', 'pshub', JSON.stringify({ url: cluster.url })])
  const calling = (await Promise.all(Array.from({ length: callers / parts }, start))).map(({ member }) => member)
  return {
    ...cluster,
    calling,
    inFlight: inFlight * parts * masters,
    enqueuers: enqueuers / parts,
    cpuMs: () => Promise.all(cluster.nodes.map(node => node.cpuMs())),
    async close() {
      await Promise.all(calling.map(member => member.stop()))
      for (const child of serving) child.send('end')
      await Promise.all(serving.map(child => once(child, 'exit')))
      await cluster.stop()
    },
  }
}

const calls = async ({ calling, inFlight: each }, ms) => {
  const sides = await Promise.all(calling.map(caller => caller.ask({ what: 'load', inFlight: each, ms })))
  return { count: sum(sides.map(side => side.calls)), perSecond: sum(sides.map(side => side.callsPerSecond)) }
}

const waiting = async ({ nodes }) => {
  const keys = (await Promise.all(nodes.map(({ redis }) => redis.keys('pshub:{*}:jobs')))).flat()
  const held = (await Promise.all(nodes.map(({ redis }) => redis.keys('pshub:{*}:held:*')))).flat()
  return keys.length + held.length
}

/** Enqueued and run at the same time. */
const jobs = async (part, count) => {
  const program = join(import.meta.dirname, '../enqueue.mjs')
  const each = Math.round(count / enqueuers)
  const args = [program, 'pshub', part.url, String(each), String(firstJobs)]
  const members = Array.from({ length: part.enqueuers }, () => new LineMember(process.execPath, args))
  await Promise.all(members.map(member => member.next()))
  const before = await part.cpuMs()
  const started = performance.now()
  for (const member of members) member.say('go')
  await Promise.all(members.map(member => member.ended()))
  while ((await waiting(part)) > 0) await sleep(20)
  const cpuMs = (await part.cpuMs()).map((cpu, at) => cpu - before[at])
  const all = each * part.enqueuers
  return { count: all, perSecond: all / ((performance.now() - started) / 1000), cpuMs }
}

const measuredCalls = async part => {
  const before = await part.cpuMs()
  const found = await calls(part, loadMs)
  return { ...found, cpuMs: (await part.cpuMs()).map((cpu, at) => cpu - before[at]) }
}

/** All parts at the same time. */
const together = async (parts, measure) => {
  const found = await Promise.all(parts.map(measure))
  return {
    count: sum(found.map(({ count }) => count)),
    perSecond: sum(found.map(({ perSecond }) => perSecond)),
    cpuMs: found.flatMap(({ cpuMs }) => cpuMs),
  }
}

const perCpuSecond = ({ count, cpuMs }) => count / (sum(cpuMs) / 1000)
const busiest = ({ cpuMs }) => Math.max(...cpuMs) / (sum(cpuMs) / cpuMs.length)

const rowsOf = (what, samples) => {
  const [[, one]] = samples
  return [...samples].map(([name, each]) => ({
    what: `${what}, ${name}`,
    'per s': Math.round(median(each.map(({ perSecond }) => perSecond))),
    'per s of Redis cpu': Math.round(median(each.map(perCpuSecond))),
    'of one master': Number(
      median(each.map((sample, round) => perCpuSecond(sample) / perCpuSecond(one[round]))).toFixed(2),
    ),
    'busiest node, of the mean': Number(median(each.map(busiest)).toFixed(2)),
    'cpu of each node, s': each
      .at(-1)
      .cpuMs.map(ms => (ms / 1000).toFixed(1))
      .join(', '),
  }))
}

export const shards = async ({ jobs: count, rounds }) => {
  const sides = []
  const found = { calls: new Map(), jobs: new Map() }
  try {
    for (const kind of kinds) {
      const side = { name: kind.name, parts: [] }
      sides.push(side)
      while (side.parts.length < kind.parts) side.parts.push(await openPart(kind))
      for (const what of Object.values(found)) what.set(kind.name, [])
      await together(side.parts, part => calls(part, 2000))
    }
    for (let round = 0; round < rounds; round++) {
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        found.calls.get(side.name).push(await together(side.parts, measuredCalls))
        found.jobs.get(side.name).push(await together(side.parts, part => jobs(part, count)))
      }
    }
  } finally {
    for (const { parts } of sides) for (const part of parts) await part.close()
  }
  return {
    title:
      `shards: blank calls of ${callers} callers with ${inFlight} in flight each for each master, and ${count} blank jobs of ${enqueuers} processes, ${workers} workers; ` +
      `medians of ${rounds} interleaved rounds`,
    rows: [...rowsOf('calls', found.calls), ...rowsOf('jobs', found.jobs)],
    notes: [
      'All of it is on one machine: what three nodes can do that one cannot is not to be seen, what they cost is.',
    ],
  }
}
