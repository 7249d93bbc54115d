// What jobs are run on, as a fault wants it, and worker processes, all of which may be killed at any moment.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Ground } from '../harness/ground.mjs'
import { restart } from './strikes.mjs'

const own = { folder: import.meta.dirname, faultJobsWorker: [process.execPath, 'worker-process.mjs'] }

/**
 * @param fault see faults.mjs and strikes.mjs
 * @param languages whose workers, in turn; the default is TypeScript. `graceMs`: what these let their jobs finish in. `dist`: pshub as it is
 *   built, or a copy of it with a planted bug
 */
export const makeStage = async ({ fault, languages = [], dist }) => {
  const { graceMs, nodes, prepare, urlOf, strike = restart, isLossless = false, hasFakeClock, leaseMs = 2000 } = fault
  const folder = mkdtempSync(join(tmpdir(), 'pshub-jobs-'))
  const ground = new Ground()
  await ground.stand({ nodes, proxies: 1, clockFile: hasFakeClock ? join(folder, 'redis-clock') : undefined })
  await prepare?.(ground)
  const url = urlOf?.(ground) ?? `redis://127.0.0.1:${ground.port}`
  const journal = join(folder, 'journal')
  const members = []
  /** What was done to processes, and when: what they ran then may be run elsewhere. */
  const hits = []
  /** When one process was there, and nothing was done to it. */
  const presences = []
  /** When Redis was away. */
  const outages = []
  let strikes = 0
  let count = 0
  let isEnding = false

  const leave = ({ queue, readyAt }) => {
    if (readyAt !== undefined) presences.push({ queue, from: readyAt, until: Date.now() })
  }
  /** It goes away for good. */
  const depart = member => {
    leave(member)
    member.readyAt = undefined
    member.endsAt ??= Date.now()
  }

  const startMember = (queue, workers) => {
    const member = { queue, workers, name: `${queue}${++count}` }
    const setup = { redis: url, name: member.name, journal, queue, workers, graceMs, leaseMs, dist }
    const language = languages[count % Math.max(1, languages.length)] ?? own
    const [command, ...args] = language.faultJobsWorker
    member.child = spawn(command, args, {
      cwd: language.folder,
      env: { ...process.env, PSHUB_JOBS_SETUP: JSON.stringify(setup) },
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    member.exited = new Promise(resolve => member.child.once('exit', resolve))
    member.ready = new Promise(resolve => {
      member.child.stdout.once('data', () => {
        if (member.endsAt === undefined) member.readyAt = Date.now()
        resolve()
      })
      member.child.once('exit', resolve)
    })
    members.push(member)
    // One that a handler took along is started anew, as whoever runs it does.
    member.child.once('exit', () => {
      const at = members.indexOf(member)
      if (at === -1) return
      members.splice(at, 1)
      depart(member)
      hits.push({ member: member.name, from: member.endsAt, until: Date.now() })
      if (!isEnding) startMember(queue, workers)
    })
    return member
  }

  return {
    url,
    journal,
    members,
    hits,
    outages,
    /** Those that are still there, too. */
    presences: () => [
      ...presences,
      ...members.map(({ queue, readyAt = Date.now() }) => ({ queue, from: readyAt, until: Date.now() })),
    ],
    ground,
    startMember,
    /** Another one comes in its place once it has gone. */
    async endMember(member, signal) {
      depart(member)
      member.child.kill(signal)
      await member.exited
    },
    async stopMember(member, ms) {
      const from = Date.now()
      leave(member)
      member.child.kill('SIGSTOP')
      await sleep(ms)
      member.child.kill('SIGCONT')
      if (member.readyAt !== undefined) member.readyAt = Date.now()
      // It goes on with what it had taken, until it knows that it lost that.
      hits.push({ member: member.name, from, until: Date.now() + 2000 })
    },
    get strikes() {
      return strikes
    },
    /** What the fault does to Redis; what it may forget by that is not looked for. */
    async strike() {
      const from = Date.now()
      await strike(ground, strikes++)
      if (!isLossless) outages.push({ from, until: Date.now() })
    },
    /** Names of keys, on all servers. */
    async keys(pattern) {
      return (await Promise.all((await ground.masters()).map(client => client.keys(pattern)))).flat()
    },
    async end(isKept) {
      isEnding = true
      for (const { child } of members) child.kill('SIGTERM')
      const left = [...members]
      const gone = Promise.all(left.map(({ exited }) => exited))
      await Promise.race([gone, sleep(15_000)])
      for (const { child } of left) child.kill('SIGKILL')
      await ground.clear()
      if (!isKept) rmSync(folder, { recursive: true, force: true })
      return isKept ? folder : undefined
    },
  }
}
