// A language under test: what its conformance.json says, and its caller and worker as processes.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { root } from '../../tools/prepare.mjs'

const startMs = 60_000

/** Where a language's conformance.json may be: of the project's own ones by name, of any other by its folder. */
const foldersOf = name => [
  join(root, 'clients', name, 'conformance'),
  join(root, 'test/conformance/adapters', name),
  resolve(name),
]

/**
 * Its commands are ready to be started in its folder.
 * @throws Error when there is none, or when what it needs cannot be had here; its message says so
 */
export const loadLanguage = name => {
  const folder = foldersOf(name).find(each => existsSync(join(each, 'conformance.json')))
  if (!folder) throw new Error(`there is no conformance.json for '${name}'; looked in ${foldersOf(name).join(', ')}`)
  const {
    language,
    setup,
    caller,
    worker,
    faultWorker,
    faultJobsWorker,
    exactIntegers = false,
  } = JSON.parse(readFileSync(join(folder, 'conformance.json'), 'utf8'))
  if (setup) {
    try {
      execFileSync(setup[0], setup.slice(1), { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] })
    } catch (error) {
      throw new Error(String(error.stderr ?? '').trim() || error.message)
    }
  }
  // A path is meant from the folder; a bare name is looked for on the PATH.
  const found = command => command?.with(0, command[0].includes('/') ? join(folder, command[0]) : command[0])
  return {
    name: language,
    folder,
    caller: found(caller),
    worker: found(worker),
    faultWorker: found(faultWorker),
    faultJobsWorker: found(faultJobsWorker),
    exactIntegers,
  }
}

/** A process that says `{"ready":true}` when it is. */
class Member {
  #child
  #stderr = ''
  #lines = new Map()
  #orders = 0

  constructor([command, ...args], folder, env) {
    this.#child = spawn(command, args, { cwd: folder, env: { ...process.env, ...env }, stdio: 'pipe' })
    this.#child.stderr.on('data', chunk => {
      this.#stderr = (this.#stderr + chunk).slice(-4000)
    })
    this.#child.stdin.on('error', () => undefined)
    this.exited = new Promise(done => {
      this.#child.once('exit', (code, signal) => done({ code, signal }))
      this.#child.once('error', error => done({ code: -1, signal: error.message }))
    })
    this.ready = new Promise((done, failed) => {
      createInterface({ input: this.#child.stdout }).on('line', line => this.#read(line, done, failed))
      this.exited.then(({ code, signal }) => {
        failed(new Error(`${command} ${args.join(' ')} ended with ${code ?? signal}: ${this.#stderr}`))
        for (const { reject } of this.#lines.values()) reject(new Error(`it ended with ${code ?? signal}`))
      })
      setTimeout(() => failed(new Error(`not ready within ${startMs} ms: ${this.#stderr}`)), startMs).unref()
    })
  }

  #read(line, done, failed) {
    let message
    try {
      message = JSON.parse(line)
    } catch {
      failed(new Error(`a line on stdout that is not JSON: ${line.slice(0, 200)}`))
      return
    }
    if (message.ready) done(message)
    const waiting = this.#lines.get(message.id)
    this.#lines.delete(message.id)
    waiting?.resolve(message)
  }

  get pid() {
    return this.#child.pid
  }

  get isGone() {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  /** Sends an order; `id` tells which one, for a later cancel. */
  order(op, input = {}) {
    const id = ++this.#orders
    const answer = new Promise((resolve, reject) => this.#lines.set(id, { resolve, reject }))
    answer.catch(() => undefined)
    this.#child.stdin.write(`${JSON.stringify({ id, op, ...input })}\n`)
    return { id, answer }
  }

  kill(signal = 'SIGKILL') {
    this.#child.kill(signal)
    return this.exited
  }

  /** As whoever runs it does in the end: nothing comes any more on stdin. */
  async end() {
    this.#child.stdin.end()
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), 15_000)
    const { code } = await this.exited
    clearTimeout(timer)
    return code
  }
}

export const startMember = async (command, folder, env) => {
  const member = new Member(command, folder, env)
  try {
    await member.ready
    return member
  } catch (error) {
    if (!member.isGone) await member.kill()
    throw error
  }
}
