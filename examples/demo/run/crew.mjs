// The processes of the demo: starts them, notices when one ends, starts it again, and stops them all.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const leaveWithParent = new URL('leave-with-parent.mjs', import.meta.url).href
const leaveWithParentPython = fileURLToPath(new URL('leave_with_parent.py', import.meta.url))

/** A line of the library's log is JSON; people get its message and what it is about. */
const readable = line => {
  try {
    const { msg, task, reason } = JSON.parse(line)
    return [msg, task, reason].filter(Boolean).join(': ') || line
  } catch {
    return line
  }
}

/**
 * @typedef {object} Member what to run
 * @property {string} name
 * @property {string[]} args
 * @property {Record<string, string>} [env]
 * @property {string} [python] this interpreter instead of this same Node
 */

/** What makes each of them leave with this process: Node's by the channel, Python by its standard input. */
const ways = {
  node: { before: ['--import', leaveWithParent], stdio: ['ignore', 'ignore', 'pipe', 'ipc'] },
  python: { before: [leaveWithParentPython], stdio: ['pipe', 'ignore', 'pipe'] },
}

export class Crew {
  #cwd
  #env
  #onEnd
  #children = new Map()
  #timers = new Set()
  #leaving = false

  /** Set by the owner once everything runs. */
  isUp = false

  /**
   * @param {object} options
   * @param {string} options.cwd
   * @param {Record<string, string>} options.env on top of this process's own
   * @param {(member: Member, pid: number, how: string) => void} options.onEnd one ended that was not told to
   */
  constructor({ cwd, env, onEnd }) {
    this.#cwd = cwd
    this.#env = env
    this.#onEnd = onEnd
  }

  /**
   * @param {Member} member
   * @param {(message: object) => void} [onMessage] what the process sends
   * @returns {number} its pid
   */
  start(member, onMessage) {
    const { before, stdio } = member.python ? ways.python : ways.node
    const child = spawn(member.python ?? process.execPath, [...before, ...member.args], {
      cwd: this.#cwd,
      env: { ...process.env, ...this.#env, ...member.env },
      stdio,
      // A group of its own: Ctrl-C in the terminal reaches this process only, which then stops the others in order.
      detached: process.platform !== 'win32',
    })
    this.#children.set(member.name, child)
    createInterface({ input: child.stderr }).on('line', line => console.error(`[${member.name}] ${readable(line)}`))
    if (onMessage) child.on('message', onMessage)
    child.on('error', error => console.error(`The ${member.name} process could not be started: ${error.message}`))
    child.on('exit', (code, signal) => {
      this.#children.delete(member.name)
      if (!this.#leaving) this.#onEnd(member, child.pid, signal ? `killed by ${signal}` : `exit code ${code}`)
    })
    return child.pid
  }

  /** Whether it was told to stop; nothing must be started any more. */
  get isLeaving() {
    return this.#leaving
  }

  /** Starts something later, unless everything stops before. */
  later(delayMs, action) {
    const timer = setTimeout(() => {
      this.#timers.delete(timer)
      action()
    }, delayMs)
    this.#timers.add(timer)
  }

  /** Tells one process to leave and waits for it; after `graceMs` it is killed. */
  async #stopOne(child, graceMs) {
    const ended = new Promise(resolve => child.once('exit', resolve))
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), graceMs)
    await ended
    clearTimeout(timer)
  }

  /** Stops all, the youngest first: the web server before the workers it asks. */
  async stop(graceMs) {
    this.#leaving = true
    for (const timer of this.#timers) clearTimeout(timer)
    const [youngest, ...others] = [...this.#children.values()].reverse()
    if (youngest) await this.#stopOne(youngest, graceMs)
    await Promise.all(others.map(child => this.#stopOne(child, graceMs)))
  }

  /** For the impatient: kills all at once. */
  kill() {
    this.#leaving = true
    for (const child of this.#children.values()) child.kill('SIGKILL')
  }
}
