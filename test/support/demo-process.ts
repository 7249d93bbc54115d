import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import { createInterface } from 'node:readline'

export const root = resolve(import.meta.dirname, '../..')

/** The demo as a user starts it, with a Redis of its own; what it prints can be waited for. */
export class Demo {
  readonly child: ChildProcess
  readonly ended: Promise<unknown[]>
  output = ''
  errors = ''

  constructor(command: string, args: string[], env: Record<string, string> = {}) {
    const { PSHUB_REDIS: _redis, HOST: _host, ...clean } = process.env
    this.child = spawn(command, args, {
      cwd: root,
      env: { ...clean, PORT: '0', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    createInterface({ input: this.child.stdout! }).on('line', line => {
      this.output += `${line}\n`
      this.child.emit('printed')
    })
    this.child.stderr!.on('data', data => {
      this.errors += data
    })
    this.ended = once(this.child, 'close')
  }

  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    for (;;) {
      const match = pattern.exec(this.output)
      if (match) return match
      const what = await Promise.race([once(this.child, 'printed'), this.ended.then(() => 'ended')])
      if (what === 'ended')
        throw new Error(`The demo ended before it printed ${pattern}:\n${this.output}${this.errors}`)
    }
  }

  /** Its address and the pids of all its processes, once it is up. */
  async up(): Promise<{ address: string; pids: Record<string, number> }> {
    await this.printed(/Ctrl-C stops everything/)
    const [, address] = await this.printed(/Page +(http:\S+)/)
    const listed = [...this.output.matchAll(/(\w+) \(pid (\d+)\)/g)].map(([, name, pid]) => [name, Number(pid)])
    return { address: address!, pids: Object.fromEntries(listed) }
  }
}

export const runs = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
