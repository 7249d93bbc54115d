// Changes over how many shards a queue is spread, as `pshub shards` does, in a process of its own that may be killed in the middle of it.
import { appendFileSync } from 'node:fs'

const { redis, journal, queue, count, quietMs, dist } = JSON.parse(process.env.PSHUB_RESHARD_SETUP)
const { Hub } = await import(`${dist}/unjoined.mjs`)
const { Connection } = await import(`${dist}/redis/connection.js`)
const { Resharding } = await import(`${dist}/queue/resharding.js`)
const { makeKeys } = await import(`${dist}/wire/keys.js`)

process.stdin.once('end', () => process.exit(1)).resume()
const note = line => appendFileSync(journal, `${JSON.stringify(line)}\n`)
const connection = new Connection({ target: redis, name: 'reshard', stallMs: 2000 })
connection.open()
await connection.whenReady()
const resharding = new Resharding(connection, makeKeys('pshub'), queue, quietMs)
const hub = new Hub({ redis, name: 'reshard' })

/** Dead jobs keep a shard that is to go: who looks after them has those with a key tried again, and deletes the others. */
const clearDead = async () => {
  const { names, earlier = [] } = await resharding.read()
  for (const place of earlier.filter(name => !names.includes(name))) {
    for (const { id, key } of await hub.dead(place).list()) {
      note({ e: key === undefined ? 'deleted' : 'revived', id, at: Date.now() })
      const filter = { ids: [id] }
      await (key === undefined ? hub.dead(place).delete(filter) : hub.dead(place).retry(filter))
    }
  }
}

process.on('uncaughtException', error => {
  process.stderr.write(`${queue} to ${count} shards: ${error.message}\n`)
  process.exit(1)
})
let clearing = Promise.resolve()
const { names } = await resharding.change(count)
note({ e: 'shards', queue, names, at: Date.now() })
await resharding.settle(({ dead }) => {
  if (dead > 0) clearing = clearing.then(clearDead, clearDead)
})
await clearing
process.exit(0)
