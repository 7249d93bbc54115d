// What the demo prints when it is up.
import { shown } from './redis.mjs'

const killCommand = pid => (process.platform === 'win32' ? `taskkill /F /PID ${pid}` : `kill -9 ${pid}`)

/** Single quotes mean nothing to cmd.exe. */
const quoted = json => (process.platform === 'win32' ? `"${json.replaceAll('"', '\\"')}"` : `'${json}'`)

/** The moon is served in Python, whose environment may not be there yet, or not at all. */
const moonProcess = ({ pid, reason }) => {
  if (pid !== undefined) return [`moon (pid ${pid})`]
  return reason ? [] : ['moon (its Python environment is being made, once)']
}

const moonHint = ({ reason }, target) =>
  reason
    ? `${reason} Each city has a gap in its place.`
    : `Call a task of the moon worker, which is written in Python:
      node dist/cli/main.js call moon_phase:1.0 ${quoted('{"at":"2024-01-25T12:00:00Z"}')} ${target}`

/**
 * @param {{ address: string, registry: string, redis: { url: string, kind: string }, pids: Record<string, number>,
 *   moon: { pid?: number, reason?: string }, againMs: number }} demo
 */
export const welcome = ({ address, registry, redis, pids, moon, againMs }) => {
  const target = `--redis ${shown(redis.url)}`
  const processes = [...Object.entries(pids).map(([name, pid]) => `${name} (pid ${pid})`), ...moonProcess(moon)]
  return `
Cities, a pshub demo

  Page        ${address}
  Registry    ${registry}
  Redis       ${shown(redis.url)} (${redis.kind})
  Processes   ${processes.join(', ')}

What to try

  Open the page and look for your town. Each page shows at its end which tasks made it, and how long they took.
  See what a late task does to a page:
      ${address}/city/3133895?slow=sky
  Take the sky worker away, then reload a city; its parts become gaps until it comes back after ${againMs / 1000} s:
      ${killCommand(pids.sky)}
  Open the registry: see the tasks at work, fill in the form of one, and run it.
  Call a task yourself, from another terminal:
      node dist/cli/main.js call city_search:1.0 ${quoted('{"query":"Springfield, Illinois"}')} ${target}
  ${moonHint(moon, target)}
  See all tasks:
      node dist/cli/main.js tasks ${target}

Ctrl-C stops everything.
`
}
