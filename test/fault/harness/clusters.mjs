// A Cluster in the place of the stage's one Redis: who serves what, and what is done to nodes and slots.
import { Cluster } from 'ioredis'
import { startCluster } from '../../../tools/redis-cluster.mjs'

const patienceMs = 20_000
/** In the slot of the queue that a row looks at. */
const ofQueue = '{q}'

/** Starts it; the stage's own client finds its way among the nodes, past whatever is done to them. */
export const addCluster = async (stage, { masters = 3, replicas = masters }, args) => {
  const cluster = await startCluster({ masters, replicas, args })
  stage.others.push(cluster)
  stage.cluster = cluster
  const addresses = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  stage.clusterUrl = `redis+cluster://${addresses.map(({ host, port }) => `${host}:${port}`).join(',')}`
  stage.redis = new Cluster(addresses, {
    lazyConnect: true,
    slotsRefreshInterval: 1000,
    clusterRetryStrategy: () => 100,
    redisOptions: { maxRetriesPerRequest: 0 },
  })
  stage.redis.on('error', () => undefined)
}

const isReady = ({ client }) => client.status === 'ready'

/** Clients of all nodes that are masters now. */
export const mastersOf = async ({ nodes }) => {
  const roles = await Promise.all(nodes.filter(isReady).map(async node => [node, (await node.client.role())[0]]))
  return roles.filter(([, role]) => role === 'master').map(([{ client }]) => client)
}

export const ownerOf = ({ cluster }, key = ofQueue) => cluster.ownerOf(key)

/** Waits until a replica has the place of this node, as all others see it, and notes when that was. */
export const untilReplaced = async (stage, victim) => {
  const isReplaced = async ({ client }) =>
    !(await client.call('cluster', 'slots')).some(([, , [, port]]) => port === victim.port)
  const others = () => stage.cluster.nodes.filter(node => node !== victim && isReady(node))
  const all = async () => (await Promise.all(others().map(isReplaced))).every(Boolean)
  if (!(await stage.until(all, patienceMs))) throw new Error('no replica was promoted')
  stage.journal('promoted', { port: victim.port })
}

/** Kills the master of the queue, which is not started again before the row says so. */
export const killOwner = async (stage, key) => {
  const victim = await ownerOf(stage, key)
  stage.journal('unheard', { from: true })
  victim.server.signal('SIGKILL')
  await victim.server.exited
  stage.journal('unheard', { from: false })
  return victim
}

/** Its address, its data; it finds out by itself what it is now. */
export const restart = ({ cluster }, node) => cluster.restart(node)

/** Stops the master of the queue where it stands: nothing is heard of it, and its connections stay open. */
export const stopOwner = async (stage, key) => {
  const victim = await ownerOf(stage, key)
  stage.journal('unheard', { from: true })
  victim.server.signal('SIGSTOP')
  // It would wait for an answer.
  victim.client.disconnect()
  return victim
}

export const wake = async (stage, node) => {
  node.server.signal('SIGCONT')
  await node.client.connect()
  const isReplica = async () => (await node.client.role())[0] === 'slave'
  if (!(await stage.until(isReplica, patienceMs))) throw new Error('a node that woke up goes on as a master')
  stage.journal('unheard', { from: false })
}

/** Has the replica of the queue's master take its place, as an administrator does before an update. */
export const handOver = async (stage, key) => {
  const owner = await ownerOf(stage, key)
  const views = await Promise.all(
    stage.cluster.nodes.map(async node => ({ node, view: String(await node.client.call('cluster', 'nodes')) })),
  )
  const { node: heir } = views.find(({ view }) => view.includes(`myself,slave ${owner.id} `))
  await heir.client.call('cluster', 'failover')
  await untilReplaced(stage, owner)
}

/** Moves the slot of a key to the next master, key by key. `delay`: what is done after each of them. */
export const moveSlotOf = async (stage, key, delay) => {
  const { client } = stage.cluster.nodes.find(isReady)
  const slot = Number(await client.call('cluster', 'keyslot', key))
  const from = await stage.cluster.ownerOfSlot(slot)
  const { masters } = stage.cluster
  await stage.cluster.moveSlot(slot, masters[(masters.indexOf(from) + 1) % masters.length], delay)
}
