import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { startServer } from '../../tools/redis-server.mjs'
import { ensureBuild, root } from './cli-fixture.ts'
import { eventually } from './hub-fixture.ts'

export interface Program {
  /** What it has written so far. */
  said(): string
  /** To it and to all that it started. */
  signal(name: NodeJS.Signals): void
  readonly ended: Promise<void>
}

/** Web applications of examples/ in folders of their own, and a redis-server for them. */
export interface ExampleApps {
  readonly redis: string
  /** What git has of it; parts of files that name this clone by a relative path are rewritten. Returns where. */
  copy(name: string, rewrite: [file: string, from: string, to: string]): string
  /** A command as in its README, by a shell in that folder. */
  start(command: string, cwd: string, env?: Record<string, string>): Program
}

export const useExampleApps = (): ExampleApps => {
  let folder: string
  let server: Awaited<ReturnType<typeof startServer>>
  const programs: Program[] = []

  beforeAll(async () => {
    ensureBuild()
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'pshub-examples-')))
    server = await startServer()
  }, 120_000)
  // Also of a test that failed: its worker would answer for that of the next one.
  afterEach(async () => {
    for (const program of programs) program.signal('SIGKILL')
    await Promise.all(programs.map(({ ended }) => ended))
  })
  afterAll(async () => {
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  return {
    get redis() {
      return server.url
    },
    copy(name, [file, from, to]) {
      const path = join(folder, name)
      const made = /\/(node_modules|\.next|\.venv|__pycache__|log|tmp)$|\/(package-lock\.json|Gemfile\.lock)$/
      cpSync(join(root, 'examples', name), path, { recursive: true, filter: source => !made.test(source) })
      const text = readFileSync(join(path, file), 'utf8')
      if (!text.includes(from)) throw new Error(`${name}/${file} has no ${from}`)
      writeFileSync(join(path, file), text.replace(from, to))
      return path
    },
    start(command, cwd, env = {}) {
      const child = spawn(command, {
        cwd,
        shell: true,
        // A group of its own: npm passes signals on, but not the one that ends it at once.
        detached: true,
        env: { ...process.env, NODE_ENV: undefined, PSHUB_REDIS: server.url, ...env },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      let said = ''
      for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (said += data))
      const program: Program = {
        said: () => said,
        signal: name => {
          try {
            process.kill(-child.pid!, name)
          } catch {
            // It has ended.
          }
        },
        ended: new Promise(resolve => child.once('close', () => resolve())),
      }
      programs.push(program)
      return program
    },
  }
}

/** Resolves when it has said so; fails with all that it said where it ended instead. */
export const hasSaid = async (program: Program, sign: RegExp): Promise<void> => {
  let isOver = false
  program.ended.then(() => (isOver = true))
  await eventually(() => {
    if (isOver) throw new Error(`It ended: ${program.said()}`)
    return sign.test(program.said())
  }, 60_000)
}
