// Processes of a measurement: started, asked, and ended.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { root } from '../../tools/prepare.mjs'

/** How long a side may take to end by itself. */
const patienceMs = 10_000

export class Member {
  #child
  #ended

  constructor(child) {
    this.#child = child
    this.#ended = once(child, 'exit').then(([code]) => {
      throw new Error(`A process of the measurement ended (${code}).`)
    })
    this.#ended.catch(() => undefined)
  }

  get pid() {
    return this.#child.pid
  }

  /** Sends a message and resolves with its answer; one that is an error, or the end of the process, rejects. */
  async ask(message) {
    this.#child.send(message)
    const [answer] = await Promise.race([once(this.#child, 'message'), this.#ended])
    if (answer.error) throw new Error(answer.error)
    return answer
  }

  async stop() {
    if (this.#child.exitCode !== null) return
    this.#child.send({ what: 'stop' })
    const killer = setTimeout(() => this.#child.kill('SIGKILL'), patienceMs)
    await once(this.#child, 'exit')
    clearTimeout(killer)
  }
}

/**
 * Starts a process and resolves when it says that it is ready, with what it said.
 * @param {string} file below the project's root
 * @param {string[]} args
 * @param {{ profileDir?: string }} [options] a folder: it leaves a CPU profile there at its end
 */
export const startMember = async (file, args, { profileDir } = {}) => {
  const execArgv = profileDir ? ['--cpu-prof', `--cpu-prof-dir=${profileDir}`] : []
  const child = fork(join(root, file), args, { cwd: root, execArgv })
  const [ready] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(([code]) => {
      throw new Error(`${file} ${args.slice(0, 2).join(' ')} did not start (${code}).`)
    }),
  ])
  return { member: new Member(child), ready }
}
