import type { Finding } from '../../redis/boot-check.ts'
import { command, serversOf } from '../../redis/client.ts'
import type { Redis } from '../../redis/connection.ts'
import { KeyScan } from '../../redis/key-scan.ts'
import { roles, usesOf } from '../../redis/rights.ts'
import type { Keys } from '../../wire/keys.ts'
import type { Overview } from '../overview.ts'

/** So many keys of a server are looked at: of one that others use too, most are none of this namespace. */
const mostKeys = 200_000
const page = 1000
/** More of a kind are only counted. */
const mostTold = 3

/** What lives and lies in a namespace, and should not be so; each with what to do. */
export const checkup = async (client: Redis, keys: Keys, overview: Overview): Promise<Finding[]> => [
  ...versions(overview),
  ...conflicts(overview),
  ...(await lostWork(client, keys, overview)),
  ...(await strangeKeys(client, keys)),
]

const versions = ({ workers }: Overview): Finding[] => {
  const byClient = new Map<string, Set<string>>()
  for (const { live, client } of workers) {
    if (!live) continue
    const [, name = client, version = ''] = /^(.*?)[ /@](\S+)$/.exec(client) ?? []
    byClient.set(name, (byClient.get(name) ?? new Set()).add(version))
  }
  const told = [...byClient].map(([name, found]) => `${name || 'unknown'} ${[...found].sort().join(' and ')}`.trim())
  if (told.length === 0) return [{ what: 'versions', level: 'ok', message: 'no worker is live' }]
  const isMixed = [...byClient.values()].some(found => found.size > 1)
  if (!isMixed) return [{ what: 'versions', level: 'ok', message: told.join(', ') }]
  const message = `live workers run different versions: ${told.join(', ')}. This is normal during a deployment; afterwards restart the older ones: pshub workers`
  return [{ what: 'versions', level: 'warning', message }]
}

const conflicts = ({ tasks }: Overview): Finding[] => {
  const found = tasks.filter(({ conflict }) => conflict)
  if (found.length === 0) return [{ what: 'schemas', level: 'ok', message: 'live workers agree on every schema' }]
  return found.map(({ task }) => ({
    what: 'schemas',
    level: 'warning',
    message: `live workers declare ${task} with different schemas; the worker that claims a call applies its own. Give the changed task a new version, or restart all its workers: pshub workers`,
  }))
}

/** Workers of the same queue take over what one held whose lease ended, within seconds. */
const lostWork = async (client: Redis, keys: Keys, { workers, atMs }: Overview): Promise<Finding[]> => {
  const lost = workers.filter(({ live, stats }) => !live && atMs - (stats?.seen ?? 0) > 10_000)
  const held = await Promise.all(
    lost.map(async worker => {
      const count = Number(await command(client, 'hlen', keys.queue(worker.queue).held(worker.id)))
      return { ...worker, count }
    }),
  )
  const left = held.filter(({ count }) => count > 0)
  if (left.length === 0) return [{ what: 'lost workers', level: 'ok', message: 'none holds a request' }]
  return left.map(({ id, host, pid, queue, count }) => ({
    what: 'lost workers',
    level: 'error',
    message: `worker ${id} (${host}/${pid}) is gone and holds ${count} of queue ${queue}, which no live worker can take over. Start a worker of that queue: pshub worker --queue ${queue}`,
  }))
}

/** Keys under the namespace that nothing of pshub would write. */
const strangeKeys = async (client: Redis, keys: Keys): Promise<Finding[]> => {
  const known = patternsOf(keys)
  const strange: string[] = []
  let isWhole = true
  for (const server of serversOf(client)) {
    const scan = new KeyScan()
    let cursor = '0'
    let looked = 0
    do {
      const prefix = escapedGlob(keys.workers.slice(0, -'workers'.length))
      const { keys: found, next } = await scan.step(server, cursor, 'match', `${prefix}*`, 'count', page)
      for (const key of found) if (!known.test(key)) strange.push(key)
      cursor = next
      looked += page
    } while (cursor !== '0' && looked < mostKeys)
    isWhole &&= cursor === '0'
  }
  const partly = isWhole ? '' : ` Only about ${mostKeys} keys of each server were checked.`
  if (strange.length === 0) return [{ what: 'keys', level: 'ok', message: `all keys are pshub's.${partly}` }]
  const shown = strange.slice(0, mostTold).map(key => JSON.stringify(key.slice(0, 120)))
  const more = strange.length > mostTold ? ` and ${strange.length - mostTold} more` : ''
  const message = `${shown.join(', ')}${more} in this namespace do not belong to pshub. Another program uses the same prefix: change one of the two (--namespace), or delete the keys.${partly}`
  return [{ what: 'keys', level: 'warning', message }]
}

/** All that any role may touch, which is all there is. */
const patternsOf = (keys: Keys): RegExp => {
  const patterns = new Set(roles.flatMap(role => usesOf(role, keys, '*', '*').flatMap(({ key }) => key ?? [])))
  const sources = [...patterns].map(pattern =>
    pattern
      .split('*')
      .map(text => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'))
      .join('[^]*'),
  )
  return new RegExp(`^(?:${sources.join('|')})$`)
}

const escapedGlob = (text: string): string => text.replace(/[\\*?[\]]/g, '\\$&')
