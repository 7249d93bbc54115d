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

const masterCounts = [1, 3]
/** The replies of each caller are on one node, drawn by its id: of few callers one node would have most. */
const callers = 12
const workers = 3
const enqueuers = 3
/** Of each caller on each node: less would be smaller writes, whoever they go to. */
const inFlight = 64
const loadMs = 5000
const queue = 'bench'

const sum = numbers => numbers.reduce((a, b) => a + b, 0)

/** A Cluster with workers and callers of its own. */
const openSide = async masters => {
  const cluster = await openCluster(masters, queue)
  const serving = Array.from({ length: workers }, () =>
    fork(join(import.meta.dirname, '../serve.mjs'), [cluster.url], { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }),
  )
  await Promise.all(serving.map(child => once(child, 'message')))
  const start = () => startMember('bench/kit/process.mjs', ['caller', 'pshub', JSON.stringify({ url: cluster.url })])
  const calling = (await Promise.all(Array.from({ length: callers }, start))).map(({ member }) => member)
  return {
    ...cluster,
    masters,
    calling,
    cpuMs: () => Promise.all(cluster.nodes.map(node => node.cpuMs())),
    async close() {
      await Promise.all(calling.map(member => member.stop()))
      for (const child of serving) child.send('end')
      await Promise.all(serving.map(child => once(child, 'exit')))
      await cluster.stop()
    },
  }
}

const calls = async ({ calling, masters }, ms) => {
  const load = { what: 'load', inFlight: inFlight * masters, ms }
  const sides = await Promise.all(calling.map(caller => caller.ask(load)))
  return { count: sum(sides.map(side => side.calls)), perSecond: sum(sides.map(side => side.callsPerSecond)) }
}

const waiting = async ({ nodes }) => {
  const keys = (await Promise.all(nodes.map(({ redis }) => redis.keys('pshub:{*}:jobs')))).flat()
  const held = (await Promise.all(nodes.map(({ redis }) => redis.keys('pshub:{*}:held:*')))).flat()
  return keys.length + held.length
}

/** Enqueued and run at the same time. */
const jobs = async (side, count) => {
  const program = join(import.meta.dirname, '../enqueue.mjs')
  const each = Math.round(count / enqueuers)
  const args = [program, 'pshub', side.url, String(each), String(firstJobs)]
  const members = Array.from({ length: enqueuers }, () => new LineMember(process.execPath, args))
  await Promise.all(members.map(member => member.next()))
  const before = await side.cpuMs()
  const started = performance.now()
  for (const member of members) member.say('go')
  await Promise.all(members.map(member => member.ended()))
  while ((await waiting(side)) > 0) await sleep(20)
  const cpuMs = (await side.cpuMs()).map((cpu, at) => cpu - before[at])
  const all = each * enqueuers
  return { count: all, perSecond: all / ((performance.now() - started) / 1000), cpuMs }
}

const measured = async side => {
  const before = await side.cpuMs()
  const found = await calls(side, loadMs)
  return { ...found, cpuMs: (await side.cpuMs()).map((cpu, at) => cpu - before[at]) }
}

const perCpuSecond = ({ count, cpuMs }) => count / (sum(cpuMs) / 1000)
const busiest = ({ cpuMs }) => Math.max(...cpuMs) / (sum(cpuMs) / cpuMs.length)

const rowsOf = (what, samples) => {
  const [[, one]] = samples
  return [...samples].map(([masters, each]) => ({
    what,
    masters,
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
    for (const masters of masterCounts) sides.push(await openSide(masters))
    for (const side of sides) await calls(side, 2000)
    for (const { masters } of sides) for (const what of Object.values(found)) what.set(masters, [])
    for (let round = 0; round < rounds; round++) {
      for (const side of round % 2 === 0 ? sides : sides.toReversed()) {
        found.calls.get(side.masters).push(await measured(side))
        found.jobs.get(side.masters).push(await jobs(side, count))
      }
    }
  } finally {
    for (const side of sides) await side.close()
  }
  return {
    title:
      `shards: blank calls of ${callers} callers with ${inFlight} in flight each for each master, and ${count} blank jobs of ${enqueuers} processes, ${workers} workers; ` +
      `one queue on one master, and spread over three; medians of ${rounds} interleaved rounds`,
    rows: [...rowsOf('calls', found.calls), ...rowsOf('jobs', found.jobs)],
    notes: [
      'All of it is on one machine: what three nodes can do that one cannot is not to be seen, what they cost is.',
    ],
  }
}
