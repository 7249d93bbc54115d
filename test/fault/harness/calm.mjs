// I12, I13, I15: what a trial leaves behind, and how noisy its processes were.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const namespace = 'pshub'
/** These are the registry and the leases of those who live; everything else that is left must end by itself. */
const lasting = new Set(
  ['tasks', 'queues', 'workers', 'stats', 'taskstats', 'slow', 'failures', 'refusing', '{q}:leases'].map(
    key => `${namespace}:${key}`,
  ),
)
/** These stay when nobody lives any more. */
const outliving = new Set(['tasks', 'queues', 'refusing'].map(key => `${namespace}:${key}`))
const ofWorkers = new Set(['workers', 'stats', 'taskstats', 'slow', 'failures'].map(key => `${namespace}:${key}`))
const bells = new Set(['{q}:bell', '{q}:jobbell'].map(key => `${namespace}:${key}`))
const longestTtlMs = 60_000

const contentsOf = async (redis, key) => {
  const isHash = (await redis.type(key)) === 'hash'
  return isHash ? JSON.stringify(await redis.hgetall(key)).slice(0, 300) : 'no hash'
}

/** Keys that neither belong there nor end by themselves soon, on any of these servers. */
export const leftKeys = async (servers, options) =>
  (await Promise.all(servers.map(redis => leftOn(redis, options)))).flat()

const leftOn = async (redis, { workersLive, cardsStay = false }) => {
  const found = []
  for (const name of await redis.keys('*')) {
    const ttlMs = await redis.pttl(name)
    // All queues of a row are alike.
    const key = name.replace(/\{q\d+\}/, '{q}')
    if (ttlMs === -2 || (ttlMs >= 0 && ttlMs <= longestTtlMs)) continue
    // What hubs refused is told for an hour.
    if (key.startsWith(`${namespace}:refused:`)) continue
    if (lasting.has(key) && (workersLive || outliving.has(key))) continue
    // The cards of workers that were killed are shown for an hour.
    if (cardsStay && ofWorkers.has(key)) continue
    // A token that was rung for work which another worker had taken by then; the next wait takes it.
    if (workersLive && bells.has(key) && (await redis.llen(name)) <= 1) continue
    const whose = workersLive ? 'while its worker lived' : 'by those who left'
    found.push({ invariant: 'I12', what: `${name} was left behind ${whose}: ${await contentsOf(redis, name)}` })
  }
  return found
}

/** Connections of callers and workers that are still open on these servers. */
export const leftClients = async servers => (await Promise.all(servers.map(clientsOf))).flat()

const clientsOf = async redis =>
  String(await redis.client('LIST'))
    .split('\n')
    .filter(line => / name=pshub-/.test(line))
    .map(line => ({ invariant: 'I13', what: `still connected: ${/ name=(\S+)/.exec(line)[1]}` }))

/** What processes kept open when all that they had was closed. */
export const leftHandles = ({ processes }) =>
  [...processes.values()].flatMap(({ name, resources = [] }) =>
    resources.length > 0 ? [{ invariant: 'I13', what: `${name} kept ${resources.join(', ')}` }] : [],
  )

const mostIn = (times, windowMs) => {
  let most = 0
  for (let from = 0, to = 0; to < times.length; to++) {
    while (times[to] - times[from] > windowMs) from++
    most = Math.max(most, to - from + 1)
  }
  return most
}

/** Tries to connect, per second and client, in the busiest 3 s. Two clients in each process. */
export const reconnects = (proxies, members, { reconnectsPerSecond = 5 }) => {
  const perProxy = proxies.map(proxy => mostIn(proxy.accepted, 3000) / 3)
  const most = Math.max(...perProxy) / Math.max(1, 2 * members)
  const found =
    most > reconnectsPerSecond ? [{ invariant: 'I15', what: `${most.toFixed(1)} connects/s and client` }] : []
  return { found, most }
}

/** Log lines per second and process, in the busiest 5 s. */
export const logLines = (folder, { linesPerSecond = 10 }) => {
  const found = []
  let most = 0
  for (const file of readdirSync(folder).filter(name => name.endsWith('.log'))) {
    const lines = readFileSync(join(folder, file), 'utf8').split('\n').filter(Boolean)
    const times = lines.flatMap(line => /"time":(\d+)/.exec(line)?.slice(1).map(Number) ?? [])
    const perSecond = mostIn(times, 5000) / 5
    most = Math.max(most, perSecond)
    if (perSecond > linesPerSecond)
      found.push({ invariant: 'I15', what: `${file}: ${perSecond} lines/s; ${lines.at(-1).slice(0, 200)}` })
    // A warning of Node itself: a listener that is never removed, a rejection that nobody handles.
    const isWarning = line => /Warning|Unhandled|Error:/.test(line) && !line.includes('on purpose')
    const warning = lines.find(line => !line.startsWith('{') && isWarning(line))
    if (warning) found.push({ invariant: 'I13', what: `${file}: ${warning.slice(0, 200)}` })
  }
  return { found, most }
}
