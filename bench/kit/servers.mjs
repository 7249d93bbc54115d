// What stands between caller and worker: a Redis or a NATS server of the measurement's own, or nothing.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { installPackages, mayInstallPackages, onPath } from '../../tools/apt.mjs'
import { freePort, startServer } from '../../tools/redis-server.mjs'

const startRedis = async () => {
  const server = await startServer()
  return { url: server.url, port: server.port, pid: server.pid, stop: () => server.stop() }
}

const natsServer = () => {
  if (!onPath('nats-server') && mayInstallPackages()) installPackages('nats-server')
  const found = onPath('nats-server')
  if (!found) throw new Error('There is no nats-server on the PATH. Install one (apt-get install nats-server).')
  return found
}

const untilOpen = async port => {
  for (let tries = 0; tries < 100; tries++) {
    const socket = createConnection(port, '127.0.0.1')
    const isOpen = await once(socket, 'connect').then(
      () => true,
      () => false,
    )
    socket.destroy()
    if (isOpen) return
    await sleep(50)
  }
  throw new Error('nats-server did not open its port within 5 s.')
}

const startNats = async () => {
  const port = await freePort()
  const dir = mkdtempSync(join(tmpdir(), 'pshub-nats-'))
  const config = join(dir, 'nats.conf')
  // Room for payloads of 1 MB and what is around them.
  writeFileSync(config, `listen: 127.0.0.1:${port}\nmax_payload: 2000000\n`)
  const child = spawn(natsServer(), ['-c', config], { stdio: 'ignore' })
  const ended = once(child, 'exit').catch(() => undefined)
  await untilOpen(port)
  const stop = async () => {
    child.kill()
    await ended
    rmSync(dir, { recursive: true, force: true })
  }
  return { url: `nats://127.0.0.1:${port}`, port, pid: child.pid, stop }
}

const nothing = async () => ({ url: '', stop: async () => undefined })

/** @param {'redis' | 'nats' | 'none'} kind */
export const startBetween = kind => ({ redis: startRedis, nats: startNats, none: nothing })[kind]()

/** Processor time of a process so far, microseconds; Linux counts in hundredths of a second. Undefined elsewhere. */
export const cpuUsOf = pid => {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1].split(' ')
    return (Number(fields[11]) + Number(fields[12])) * 10_000
  } catch {
    return undefined
  }
}
