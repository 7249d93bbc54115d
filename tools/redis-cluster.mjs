// A Cluster of one's own: masters and replicas on free ports, each stopped by its own process. Used by the tests and the bench.
// As a program it starts one, prints its nodes as a line of JSON, and ends it when its standard input ends.
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { onFreePort, startServer } from './redis-server.mjs'

const allSlots = 16_384
const patienceMs = 20_000

const until = async (look, what) => {
  const end = Date.now() + patienceMs
  while (!(await look())) {
    if (Date.now() > end) throw new Error(`the Cluster did not come up: ${what}`)
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

/** @param {string[]} args */
const startNode = async args => {
  const cluster = [
    '--cluster-enabled',
    'yes',
    '--cluster-node-timeout',
    '1500',
    '--cluster-require-full-coverage',
    'no',
  ]
  // A replica may take over however long ago it heard of its master; no need to wait for others to come to the same view.
  const ready = ['--cluster-replica-validity-factor', '0', '--repl-diskless-sync-delay', '0']
  const { busPort, all, server } = await onFreePort(async port => {
    const busPort = String(port)
    const all = [...cluster, ...ready, '--cluster-port', busPort, ...args]
    return { busPort, all, server: await startServer({ args: all }) }
  })
  const client = new Redis(server.url, { maxRetriesPerRequest: 3, retryStrategy: () => 100 })
  client.on('error', () => undefined)
  const id = await client.call('cluster', 'myid')
  return { id, busPort, port: server.port, url: server.url, args: all, server, client }
}

/** One that ends while it is asked does not count. */
const allOf = async (nodes, look) =>
  (await Promise.all(nodes.map(node => look(node).catch(() => node.client.status !== 'ready')))).every(Boolean)

/** What a node thinks of the Cluster. */
const stateOf = async ({ client }) => String(await client.call('cluster', 'info'))

/**
 * Starts a Cluster whose slots are spread evenly, and resolves when all nodes know it.
 * @param {{ masters?: number, replicas?: number, args?: string[] }} [options] `replicas`: in all, the first one for the first master
 */
export const startCluster = async ({ masters = 3, replicas = 0, args = [] } = {}) => {
  const nodes = await Promise.all(Array.from({ length: masters + replicas }, () => startNode(args)))
  const cluster = makeCluster(nodes, masters, args)
  try {
    for (const [at, { client }] of cluster.masters.entries()) {
      const [from, next] = [at, at + 1].map(place => Math.floor((place * allSlots) / masters))
      await client.call('cluster', 'addslotsrange', from, next - 1)
      await client.call('cluster', 'set-config-epoch', at + 1)
    }
    const [first, ...others] = nodes
    for (const { port, busPort } of others) await first.client.call('cluster', 'meet', '127.0.0.1', port, busPort)
    const knowsAll = async node => (await stateOf(node)).includes(`cluster_known_nodes:${nodes.length}\r\n`)
    await until(() => allOf(nodes, knowsAll), 'the nodes do not find each other')
    for (const [at, replica] of nodes.slice(masters).entries())
      await replica.client.call('cluster', 'replicate', cluster.masters[at % masters].id)
    await cluster.untilOk()
  } catch (error) {
    await cluster.stop()
    throw error
  }
  return cluster
}

/** @param {Awaited<ReturnType<typeof startNode>>[]} nodes */
const makeCluster = (nodes, /** @type {number} */ masterCount, args = ['']) => {
  const cluster = {
    nodes,
    /** As they were at the start. */
    masters: nodes.slice(0, masterCount),
    replicas: nodes.slice(masterCount),
    url: nodes[0].url,
    /** The node that serves this key now, as most of the others see it. */
    async ownerOf(key) {
      for (const { client } of nodes) {
        if (client.status !== 'ready') continue
        const slot = Number(await client.call('cluster', 'keyslot', key))
        const ranges = await client.call('cluster', 'slots')
        const [, , [, port] = []] = ranges.find(([from, to]) => slot >= from && slot <= to) ?? []
        const owner = nodes.find(node => node.port === port)
        if (owner) return owner
      }
      throw new Error(`nobody serves ${key}`)
    },
    /** All slots are served, and each replica has its master's data. */
    async untilOk() {
      const isOk = async node => {
        const info = await stateOf(node)
        const replication = String(await node.client.info('replication'))
        return (
          info.includes('cluster_state:ok') &&
          info.includes(`cluster_slots_ok:${allSlots}\r\n`) &&
          !replication.includes('master_link_status:down')
        )
      }
      const live = () => nodes.filter(({ client }) => client.status === 'ready')
      await until(() => allOf(live(), isOk), 'not all slots are served')
      const hasAll = async ({ client }) => {
        const ranges = await client.call('cluster', 'slots')
        const ofReplicas = ranges.reduce((sum, range) => sum + range.length - 3, 0)
        return ofReplicas >= Math.min(cluster.replicas.length, live().length - masterCount)
      }
      await until(() => allOf(live(), hasAll), 'replicas are missing')
    },
    /** Kills a node and resolves when all others know that its replica has its slots. */
    async failOver(node) {
      node.server.signal('SIGKILL')
      node.client.disconnect()
      const live = nodes.filter(({ client }) => client.status === 'ready')
      const isReplaced = async ({ client }) =>
        !(await client.call('cluster', 'slots')).some(([, , [, port]]) => port === node.port)
      await until(() => allOf(live, isReplaced), 'no replica was promoted')
      await cluster.untilOk()
    },
    /** Starts a node again on its data, at its address. The others learn of it by themselves. */
    async restart(node) {
      const { port, args, server } = node
      node.server = await startServer({ port, dir: server.dir, args })
      await until(async () => node.client.status === 'ready', 'a node that was started again')
    },
    /** A new node, which serves nothing yet, and which all others know. */
    async join() {
      const node = await startNode(args)
      const [first] = nodes
      nodes.push(node)
      await first.client.call('cluster', 'meet', '127.0.0.1', node.port, node.busPort)
      const isKnown = async ({ client }) => String(await client.call('cluster', 'nodes')).includes(node.id)
      await until(() => allOf(nodes, isKnown), 'the others do not know the new node')
      return node
    },
    /** Moves a key's slot with all that is in it to another node, key by key, as an administrator's tool does. */
    async moveSlot(slot, to, onKey = () => undefined) {
      const from = await cluster.ownerOfSlot(slot)
      if (from === to) return
      await to.client.call('cluster', 'setslot', slot, 'importing', from.id)
      await from.client.call('cluster', 'setslot', slot, 'migrating', to.id)
      for (;;) {
        const keys = await from.client.call('cluster', 'getkeysinslot', slot, 100)
        if (keys.length === 0) break
        for (const key of keys) {
          await from.client.call('migrate', '127.0.0.1', to.port, key, 0, 5000)
          await onKey(key)
        }
      }
      // The new owner first: else a moment without any.
      for (const node of [to, from, ...nodes.filter(({ client }) => client.status === 'ready')])
        await node.client.call('cluster', 'setslot', slot, 'node', to.id).catch(() => undefined)
    },
    async ownerOfSlot(slot) {
      const { client } = nodes.find(node => node.client.status === 'ready')
      const ranges = await client.call('cluster', 'slots')
      const [, , [, port]] = ranges.find(([from, to]) => slot >= from && slot <= to)
      return nodes.find(node => node.port === port)
    },
    async stop() {
      await Promise.all(nodes.map(({ server }) => server.stop()))
      for (const { client } of nodes) client.disconnect()
    },
  }
  return cluster
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [masters = 3, replicas = 0] = process.argv.slice(2).map(Number)
  const cluster = await startCluster({ masters, replicas })
  const told = cluster.nodes.map(({ id, port, server }) => ({ id, port, pid: server.pid }))
  process.stdout.write(`${JSON.stringify({ nodes: told })}\n`)
  process.stdin.resume()
  await once(process.stdin, 'end')
  await cluster.stop()
}
