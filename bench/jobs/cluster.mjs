// Nodes of a Cluster of the measurement's own without replicas, a queue that is spread over all of them, and what each says of itself.
import { startCluster } from '../../tools/redis-cluster.mjs'
import { figuresOf } from './server.mjs'

const { Connection } = await import('../../dist/redis/connection.js')
const { Resharding } = await import('../../dist/queue/resharding.js')
const { makeKeys } = await import('../../dist/wire/keys.js')

/** Nothing was put into it yet that somebody might not have heard of. */
const quietMs = 500

/** @param masters one of them: a Cluster of one node, so that callers and workers do the same there */
export const openCluster = async (masters, queue) => {
  const cluster = await startCluster({ masters })
  const nodes = cluster.nodes.map(({ client, url, port }) => ({ redis: client, url, port, ...figuresOf(client) }))
  const url = `redis+cluster://${nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
  const connection = new Connection({ target: url, name: 'bench', stallMs: 2000 })
  connection.open()
  await connection.whenReady()
  const resharding = new Resharding(connection, makeKeys('pshub'), queue, quietMs)
  await resharding.change(masters)
  await resharding.settle(() => undefined)
  connection.close()
  return { url, nodes, stop: () => cluster.stop() }
}
