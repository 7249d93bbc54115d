// A Redis with its append-only file, and worker processes, all of which may be killed at any moment.
import { fork, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'

const freePort = () =>
  new Promise(resolve => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address()
      server.close(() => resolve(port))
    })
  })

export const makeStage = async dist => {
  const folder = mkdtempSync(join(tmpdir(), 'pshub-jobs-'))
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  const journal = join(folder, 'journal')
  const members = []
  let server
  let count = 0

  const startRedis = async () => {
    const args = ['--port', port, '--dir', folder, '--save', '', '--appendonly', 'yes', '--appendfsync', 'everysec']
    server = spawn('redis-server', [...args, '--bind', '127.0.0.1', '--loglevel', 'warning'].map(String), {
      stdio: 'ignore',
    })
    const client = new Redis(port, { retryStrategy: () => 20, maxRetriesPerRequest: null })
    client.on('error', () => undefined)
    for (;;) {
      const pong = await client.ping().catch(() => undefined)
      if (pong === 'PONG') break
      await sleep(20)
    }
    client.disconnect()
  }

  const startMember = (queue, workers) => {
    const member = { queue, workers, name: `${queue}${++count}` }
    const setup = { dist, redis: url, name: member.name, journal, queue, workers }
    member.child = fork(join(import.meta.dirname, 'worker-process.mjs'), {
      env: { ...process.env, PSHUB_JOBS_SETUP: JSON.stringify(setup) },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    member.exited = new Promise(resolve => member.child.once('exit', resolve))
    member.ready = new Promise(resolve => {
      member.child.once('message', resolve)
      member.child.once('exit', resolve)
    })
    members.push(member)
    return member
  }

  return {
    url,
    journal,
    members,
    startRedis,
    startMember,
    /** Returns the one in its place. */
    async killMember(member) {
      member.child.kill('SIGKILL')
      await member.exited
      members.splice(members.indexOf(member), 1)
      return startMember(member.queue, member.workers)
    },
    async killRedis() {
      const gone = new Promise(resolve => server.once('exit', resolve))
      server.kill('SIGKILL')
      await gone
      await sleep(100 + Math.random() * 400)
      await startRedis()
    },
    async end(isKept) {
      for (const { child } of members) child.kill('SIGTERM')
      const gone = Promise.all(members.map(({ exited }) => exited))
      await Promise.race([gone, sleep(15_000)])
      for (const { child } of members) child.kill('SIGKILL')
      server.kill('SIGKILL')
      if (!isKept) rmSync(folder, { recursive: true, force: true })
      return isKept ? folder : undefined
    },
  }
}
