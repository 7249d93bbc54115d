import { execFile, execFileSync, spawn } from 'node:child_process'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect } from 'vitest'
import { startServer } from '../../tools/redis-server.mjs'
import { ensureBuild, root } from './cli-fixture.ts'
import type { LockedPackage } from './engines.mjs'

export const run = promisify(execFile)

export const npmInstall = ['install', '--no-audit', '--no-fund', '--prefer-offline']

export interface Installed {
  cwd: string
  env: Record<string, string>
  worker: string[]
  /** Prints the answer of `where:1.0`, which is the file that the package was loaded from. */
  call: string[]
}

/** Packages as their users get them, in empty projects, and a redis-server. */
export interface Packed {
  readonly url: string
  /** A new project with these files; returns its folder. */
  project(name: string, files: Record<string, string>): string
  /** The tarball of an npm package of this repository. */
  tarball(name: 'pshub' | 'pshub-registry'): Promise<string>
  /** Copies what a clone has of a client: its folder and the Lua code. Returns the folder. */
  cloneOf(part: string): string
  /** Starts a worker, makes a call, and returns its answer. */
  serveAndCall(installed: Installed): Promise<string>
  /** Resolves with the first match of what it prints. */
  started(
    command: string[],
    options: { cwd: string; env?: Record<string, string> },
    sign: RegExp,
  ): Promise<RegExpExecArray>
}

export const usePacked = (): Packed => {
  let folder: string
  let server: Awaited<ReturnType<typeof startServer>>
  const ends: (() => unknown)[] = []
  const tarballs = new Map<string, Promise<string>>()

  beforeAll(async () => {
    ensureBuild()
    // Not through a link: what is loaded must be seen to come from here.
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'pshub-packages-')))
    server = await startServer()
  }, 120_000)
  afterAll(async () => {
    await Promise.all(ends.map(end => end()))
    await server.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const pack = async (name: string): Promise<string> => {
    const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', folder]
    const { stdout } = await run('npm', args, { cwd: name === 'pshub' ? root : join(root, 'registry') })
    const told = JSON.parse(stdout)
    // A list, or by the packages' names: npm has changed it.
    return join(folder, (Array.isArray(told) ? told[0] : told[name]).filename)
  }

  const packed: Packed = {
    get url() {
      return server.url
    },
    project(name, files) {
      const path = join(folder, name)
      mkdirSync(path)
      for (const [file, text] of Object.entries(files)) writeFileSync(join(path, file), text)
      return path
    },
    tarball(name) {
      if (!tarballs.has(name)) tarballs.set(name, pack(name))
      return tarballs.get(name)!
    },
    cloneOf(part) {
      const parts = [part, 'src/queue/lua', 'clients/memory']
      const files = execFileSync('git', ['ls-files', '-z', ...parts], { cwd: root, encoding: 'utf8' })
      for (const file of files.split('\0').filter(Boolean)) cpSync(join(root, file), join(folder, 'clone', file))
      return join(folder, 'clone', part)
    },
    async started([program, ...args], { cwd, env }, sign) {
      const options = { cwd, env: { ...process.env, PSHUB_REDIS: server.url, ...env } }
      const child = spawn(program!, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
      const ended = new Promise(resolve => child.once('exit', resolve))
      ends.push(async () => {
        child.kill('SIGTERM')
        await ended
      })
      let said = ''
      for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (said += data))
      await expect.poll(() => said, { timeout: 60_000 }).toMatch(sign)
      return sign.exec(said)!
    },
    async serveAndCall({ worker, call, ...options }) {
      await packed.started(worker, options, /started|serv/i)
      const env = { ...process.env, PSHUB_REDIS: server.url, ...options.env }
      return (await run(call[0]!, call.slice(1), { cwd: options.cwd, env })).stdout.trim()
    },
  }
  return packed
}

/** The files of a project of Node's that has installed pshub, whose task says where it was loaded from. */
export const nodeProject = {
  'package.json': '{"name":"project","version":"1.0.0","private":true,"type":"module","license":"MIT"}',
  'tasks.mjs': `import { defineTask } from 'pshub'
export const where = defineTask('where:1.0', {}, () => import.meta.resolve('pshub'))`,
  'call.mjs': `import { Hub } from 'pshub'
const hub = new Hub()
console.log(await hub.call('where:1.0', {}, { queue: process.argv[2] }))
await hub.close()`,
}

/** What to run there. */
export const nodePrograms = (cwd: string, queue: string): Installed => ({
  cwd,
  env: {},
  worker: [join(cwd, 'node_modules/.bin/pshub'), 'worker', './tasks.mjs', '--queue', queue],
  call: [process.execPath, 'call.mjs', queue],
})

/** What npm says that it has installed. */
export const installedIn = (cwd: string): Record<string, LockedPackage> =>
  JSON.parse(readFileSync(join(cwd, 'node_modules/.package-lock.json'), 'utf8')).packages

/** Files below a folder, with their sizes, links left out. */
export const filesBelow = (folder: string): { path: string; bytes: number }[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))
    .map(path => ({ path, bytes: statSync(path).size }))
