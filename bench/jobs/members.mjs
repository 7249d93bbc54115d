// A side of a measurement in a process of its own, which tells what it saw in lines of JSON; whatever else it says is passed over.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** How long a side may take to end by itself. */
const patienceMs = 10_000

export class LineMember {
  #child
  #ended
  #lines = []
  /** The end of what it complained of. */
  #complaints = ''
  #onLine

  constructor(command, args, env = process.env) {
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env })
    this.#ended = once(this.#child, 'exit').then(([code, signal]) => code ?? signal)
    createInterface({ input: this.#child.stdout }).on('line', line => {
      if (!line.startsWith('{')) return
      this.#lines.push(JSON.parse(line))
      this.#onLine?.()
    })
    this.#child.stderr.setEncoding('utf8').on('data', text => {
      this.#complaints = (this.#complaints + text).slice(-2000)
    })
    // Never outlives this process.
    const killNow = () => this.#child.kill('SIGKILL')
    process.once('exit', killNow)
    this.#ended.then(() => process.off('exit', killNow))
  }

  get pid() {
    return this.#child.pid
  }

  /** The next line; rejects when the process ends without it. */
  async next() {
    while (this.#lines.length === 0) {
      const line = new Promise(resolve => {
        this.#onLine = () => resolve(true)
      })
      const isLine = await Promise.race([line, this.#ended.then(() => false)])
      if (!isLine && this.#lines.length === 0)
        throw new Error(`${this.#child.spawnargs.join(' ')} ended too soon\n${this.#complaints}`)
    }
    return this.#lines.shift()
  }

  say(line = '') {
    this.#child.stdin.write(`${line}\n`)
  }

  async ended() {
    await this.#ended
  }

  async stop() {
    this.#child.kill('SIGTERM')
    const killer = setTimeout(() => this.#child.kill('SIGKILL'), patienceMs)
    await this.#ended
    clearTimeout(killer)
  }
}
