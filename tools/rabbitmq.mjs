// A real RabbitMQ of one's own for tests: found or installed, on free ports, in its own directory, stopped by its own process.
import { spawn } from 'node:child_process'
import { accessSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { installPackages, mayInstallPackages, onPath } from './apt.mjs'
import { freePort } from './redis-server.mjs'

/** Debian's own starts it as another user, and only from its place. */
const scripts = ['/usr/lib/rabbitmq/bin/rabbitmq-server', '/opt/homebrew/sbin/rabbitmq-server']

const findBroker = () =>
  scripts.find(path => {
    try {
      accessSync(path)
      return true
    } catch {
      return false
    }
  }) ?? onPath('rabbitmq-server')

/** Its path, installing Debian's package where that needs no answer from anybody. Throws with what to do instead. */
export const ensureBroker = () => {
  const found = findBroker()
  if (found) return found
  if (mayInstallPackages()) {
    installPackages('rabbitmq-server')
    const installed = findBroker()
    if (installed) return installed
  }
  throw new Error('The tests of AMQP need a RabbitMQ: apt-get install rabbitmq-server, or brew install rabbitmq.')
}

/** Ends a process and resolves when it is gone. */
const end = async (child, signal) => {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = new Promise(resolve => child.once('exit', resolve))
  child.kill(signal)
  await exited
}

/** Starts one and resolves when it accepts connections; it takes some ten seconds. */
export const startBroker = async () => {
  const program = ensureBroker()
  const dir = mkdtempSync(join(tmpdir(), 'pshub-rabbitmq-'))
  const [port, distPort, epmdPort] = [await freePort(), await freePort(), await freePort()]
  mkdirSync(join(dir, 'home'))
  writeFileSync(join(dir, 'rabbitmq.conf'), `listeners.tcp.default = 127.0.0.1:${port}\nloopback_users = none\n`)
  writeFileSync(join(dir, 'plugins'), '[].\n')
  const env = {
    PATH: process.env.PATH,
    HOME: join(dir, 'home'),
    ERL_EPMD_PORT: String(epmdPort),
    ERL_EPMD_ADDRESS: '127.0.0.1',
    RABBITMQ_NODENAME: `pshub${port}@localhost`,
    RABBITMQ_DIST_PORT: String(distPort),
    RABBITMQ_CONFIG_FILE: join(dir, 'rabbitmq.conf'),
    RABBITMQ_CONF_ENV_FILE: join(dir, 'none'),
    RABBITMQ_ENABLED_PLUGINS_FILE: join(dir, 'plugins'),
    RABBITMQ_MNESIA_BASE: join(dir, 'data'),
    RABBITMQ_LOG_BASE: join(dir, 'log'),
    RABBITMQ_LOGS: '-',
    RABBITMQ_PID_FILE: join(dir, 'pid'),
  }
  // One that the broker started itself would outlive it.
  const names = spawn('epmd', ['-port', String(epmdPort), '-address', '127.0.0.1'], { stdio: 'ignore', env })
  const broker = spawn(program, [], { stdio: ['ignore', 'pipe', 'pipe'], env, detached: true })
  // What the script starts belongs to it.
  const killNow = () => {
    names.kill('SIGKILL')
    try {
      process.kill(-broker.pid, 'SIGKILL')
    } catch {
      // It is gone.
    }
  }
  process.once('exit', killNow)
  const stop = async () => {
    killNow()
    await Promise.all([end(broker, 'SIGKILL'), end(names, 'SIGKILL')])
    process.off('exit', killNow)
    rmSync(dir, { recursive: true, force: true, maxRetries: 5 })
  }
  try {
    await new Promise((resolve, reject) => {
      let log = ''
      const listen = chunk => {
        log = (log + chunk).slice(-10_000)
        if (/Server startup complete/.test(log)) resolve()
      }
      broker.stdout.on('data', listen)
      broker.stderr.on('data', listen)
      broker.once('error', reject)
      names.once('error', reject)
      broker.once('exit', code => reject(new Error(`RabbitMQ ended with code ${code}:\n${log}`)))
    })
  } catch (error) {
    await stop()
    throw error
  }
  return { port, url: `amqp://guest:guest@127.0.0.1:${port}`, pid: broker.pid, stop }
}
