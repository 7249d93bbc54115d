import type { Finding } from './boot-check.ts'
import { command, nowMsOf, serversOf } from './client.ts'
import type { Redis } from './connection.ts'

/** A call of a function takes a fraction of a millisecond; nothing else runs in Redis meanwhile. */
const slowUs = 50_000
const skewMs = 1000

/**
 * What of a server's settings, its clock and its slow log is worth to know beside the boot check. Who may not read these is told so, which is no
 * fault: nothing else needs them.
 */
export const lookAtServers = async (client: Redis, functionPrefix: string): Promise<Finding[]> => {
  const found = await Promise.all(
    serversOf(client).map(async server => [
      ...(await settings(server)),
      ...(await clock(server)),
      ...(await slowLog(server, functionPrefix)),
    ]),
  )
  const all = found.flat()
  return all.filter(
    ({ what, message }, at) => at === all.findIndex(each => each.what === what && each.message === message),
  )
}

const settings = async (server: Redis): Promise<Finding[]> => {
  const what = 'settings'
  const flat = await allowed(() => command(server, 'config', 'get', 'timeout'))
  const alive = await allowed(() => command(server, 'config', 'get', 'tcp-keepalive'))
  if (flat === undefined || alive === undefined)
    return [{ what, level: 'ok', message: 'timeout and tcp-keepalive not checked: this user may not read them' }]
  const timeout = Number((flat as string[])[1])
  const keepalive = Number((alive as string[])[1])
  const findings: Finding[] = []
  if (timeout > 0)
    findings.push({
      what,
      level: 'warning',
      message: `Redis closes connections that are idle for ${timeout} s, and callers have to connect again. Set it with: redis-cli config set timeout 0`,
    })
  if (keepalive === 0)
    findings.push({
      what,
      level: 'warning',
      message:
        'tcp-keepalive is off: connections of processes that are gone stay open. Set it with: redis-cli config set tcp-keepalive 300',
    })
  return findings.length > 0 ? findings : [{ what, level: 'ok', message: `timeout 0, tcp-keepalive ${keepalive}` }]
}

const clock = async (server: Redis): Promise<Finding[]> => {
  const before = Date.now()
  const theirs = await nowMsOf(server, '')
  const after = Date.now()
  // What passed on the way is no difference.
  const byMs = theirs < before ? theirs - before : Math.max(0, theirs - after)
  if (Math.abs(byMs) < skewMs) return [{ what: 'clock', level: 'ok', message: "Redis' and this machine's agree" }]
  const told = `Redis' clock is ${(Math.abs(byMs) / 1000).toFixed(1)} s ${byMs < 0 ? 'behind' : 'ahead of'} this machine's`
  return [
    {
      what: 'clock',
      level: 'warning',
      message: `${told}. pshub uses the clock of Redis, so jobs with a date run early or late by that much. Synchronize both with NTP`,
    },
  ]
}

const slowLog = async (server: Redis, prefix: string): Promise<Finding[]> => {
  const what = 'slow log'
  const entries = await allowed(() => command(server, 'slowlog', 'get', 128))
  if (!Array.isArray(entries))
    return [{ what, level: 'ok', message: 'not checked: this user may not read it (SLOWLOG GET)' }]
  const slow = entries.flatMap(entry => {
    const [, , us, args] = entry as [unknown, unknown, unknown, unknown]
    const [name = '', called = ''] = Array.isArray(args) ? args.map(String) : []
    const isOurs = name.toLowerCase() === 'fcall' && called.startsWith(prefix) && Number(us) >= slowUs
    return isOurs ? [{ called, us: Number(us) }] : []
  })
  if (slow.length === 0) return [{ what, level: 'ok', message: "none of pshub's functions in it" }]
  const longest = slow.reduce((a, b) => (b.us > a.us ? b : a))
  const count = slow.length === 1 ? 'one call' : `${slow.length} calls`
  return [
    {
      what,
      level: 'warning',
      message: `${count} of pshub's functions took up to ${Math.round(longest.us / 1000)} ms (${longest.called}), and Redis did nothing else meanwhile. Check for swapping, a fork for saving, a busy machine and very large arguments: redis-cli slowlog get`,
    },
  ]
}

/** Undefined for what this user may not ask. */
const allowed = async (ask: () => Promise<unknown>): Promise<unknown> => {
  try {
    return await ask()
  } catch (error) {
    if ((error as Error).name === 'ReplyError') return undefined
    throw error
  }
}
