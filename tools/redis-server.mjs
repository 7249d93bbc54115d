// A real redis-server (or valkey-server) of one's own: found or installed, on a free port, in its own directory,
// stopped by its own process. Used by the tests and the bench.
import { execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPackages, mayInstallPackages, onPath } from './apt.mjs'

const names = ['redis-server', 'valkey-server']

/** Path of a server of version 7 or newer, or undefined. PSHUB_TEST_SERVER names one outright. */
export const findServer = () => {
  const candidates = [process.env.PSHUB_TEST_SERVER, ...names.map(onPath)].filter(Boolean)
  return candidates.find(path => {
    try {
      const [, major] = /v=(\d+)\./.exec(execFileSync(path, ['--version'], { encoding: 'utf8' })) ?? []
      return Number(major) >= 7
    } catch {
      return false
    }
  })
}

/** The same, installing Debian's package where that needs no answer from anybody. Throws with what to do instead. */
export const ensureServer = () => {
  const found = findServer()
  if (found) return found
  if (mayInstallPackages()) {
    installPackages('redis-server')
    const installed = findServer()
    if (installed) return installed
  }
  throw new Error(
    'The tests need a redis-server or valkey-server of version 7 or newer. Install one (apt-get install redis-server, ' +
      'brew install redis) so that it is on the PATH, or name it in PSHUB_TEST_SERVER.',
  )
}

export const freePort = () =>
  new Promise((resolve, reject) => {
    const probe = createServer()
    probe.once('error', reject)
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address()
      probe.close(() => resolve(port))
    })
  })

const triesOfPorts = 5

/** Runs `start` with a free port, and with another one where somebody was quicker: that is used a moment after it was looked for. */
export const onFreePort = async start => {
  for (let tries = 1; ; tries++) {
    const port = await freePort()
    try {
      return await start(port)
    } catch (error) {
      if (tries === triesOfPorts || !/Address already in use/i.test(error.message)) throw error
    }
  }
}

/**
 * Starts a server and resolves when it accepts connections.
 * @param {{ args?: string[], port?: number, dir?: string, env?: Record<string, string> }} [options] extra arguments; port and
 *   directory of an earlier server, to start it again on its data; what its environment has beside ours
 */
export const startServer = (options = {}) =>
  options.port ? startOn(options.port, options) : onFreePort(port => startOn(port, options))

const startOn = async (port, options) => {
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), 'pshub-redis-'))
  const child = spawn(
    ensureServer(),
    [
      '--port',
      String(port),
      '--bind',
      '127.0.0.1',
      '--dir',
      dir,
      '--save',
      '',
      '--appendonly',
      'no',
      ...(options.args ?? []),
    ],
    { stdio: ['ignore', 'pipe', 'inherit'], env: { ...process.env, ...options.env } },
  )
  const exited = new Promise(resolve => child.once('exit', resolve))
  await new Promise((resolve, reject) => {
    let log = ''
    const onEarlyExit = code => {
      if (!options.dir) rmSync(dir, { recursive: true, force: true })
      reject(new Error(`the server ended with code ${code}:\n${log}`))
    }
    child.stdout.on('data', chunk => {
      log = (log + chunk).slice(-10_000)
      if (!/Ready to accept connections/.test(log)) return
      child.off('exit', onEarlyExit)
      resolve()
    })
    child.once('error', reject)
    child.once('exit', onEarlyExit)
  })
  // Never outlives the process that started it.
  const killNow = () => child.kill('SIGKILL')
  process.once('exit', killNow)
  return {
    port,
    dir,
    pid: child.pid,
    url: `redis://127.0.0.1:${port}`,
    signal: name => child.kill(name),
    exited,
    /** Ends the server; removes its directory unless that is still needed. */
    async stop({ keepDir = false, signal = 'SIGKILL' } = {}) {
      child.kill(signal)
      await exited
      process.off('exit', killNow)
      if (!keepDir) rmSync(dir, { recursive: true, force: true })
    },
  }
}
