import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { Connection } from '../../src/redis/connection.ts'
import { ensureServer, onFreePort } from '../../tools/redis-server.mjs'
import { eventually, useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

/** A sentinel that watches this file's server. */
const startSentinel = (master: number) => onFreePort((port: number) => sentinelOn(port, master))
const sentinelOn = async (port: number, master: number) => {
  const dir = mkdtempSync(join(tmpdir(), 'pshub-sentinel-'))
  const file = join(dir, 'sentinel.conf')
  writeFileSync(file, `port ${port}\nbind 127.0.0.1\ndir ${dir}\nsentinel monitor mine 127.0.0.1 ${master} 1\n`)
  const child = spawn(ensureServer(), [file, '--sentinel'], { stdio: ['ignore', 'pipe', 'inherit'] })
  const exited = new Promise(resolve => child.once('exit', resolve))
  let log = ''
  await new Promise<void>((resolve, reject) => {
    child.stdout.on('data', data => {
      log += data
      if (log.includes('+monitor')) resolve()
    })
    child.once('exit', () => reject(new Error(`The sentinel ended:\n${log}`)))
  })
  return {
    port,
    async stop() {
      child.kill('SIGKILL')
      await exited
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** A sentinel that accepts and never says anything. */
const startDeaf = async () => {
  const sockets = new Set<Socket>()
  let accepted = 0
  const server = createServer(socket => {
    accepted++
    sockets.add(socket)
    // Read, so that it sees the other side's end.
    socket.resume()
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  it_.onEnd(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
  })
  return { port: (server.address() as { port: number }).port, sockets, accepted: () => accepted }
}

describe('sentinels', () => {
  let sentinel: Awaited<ReturnType<typeof startSentinel>>
  beforeAll(async () => {
    sentinel = await startSentinel(it_.server.port)
  })
  afterAll(() => sentinel.stop())

  const address = (port: number) => ({ host: '127.0.0.1', port })
  const targetOf = (...ports: number[]) => ({ name: 'mine', sentinels: ports.map(address) })

  it('that say nothing are left without a trace when the connection is closed', async () => {
    const deaf = await startDeaf()
    const connection = new Connection({ target: targetOf(deaf.port, sentinel.port), name: 'test', stallMs: 2000 })
    connection.open()
    await connection.whenReady()
    // Where it would hear of a failover.
    await eventually(() => deaf.sockets.size > 0)
    await connection.close()
    await eventually(() => deaf.sockets.size === 0)
    const still = new Connection({ target: targetOf(deaf.port), name: 'test', stallMs: 2000 })
    still.open()
    await eventually(() => deaf.sockets.size > 0)
    await still.close()
    await eventually(() => deaf.sockets.size === 0)
    const count = deaf.accepted()
    await eventually(async () => !String(await it_.redis.call('CLIENT', 'LIST')).includes('name=test'))
    expect(deaf.accepted()).toBe(count)
  })

  it('are not listened to any more by a connection that broke', async () => {
    const asked = new Redis({ port: sentinel.port })
    it_.onEnd(async () => asked.disconnect())
    const listening = async () =>
      String(await asked.call('CLIENT', 'LIST'))
        .split('\n')
        .filter(line => line.includes(' cmd=subscribe')).length
    const before = await listening()
    let ups = 0
    const connection = new Connection({
      target: targetOf(sentinel.port),
      name: 'listening',
      stallMs: 2000,
      onUp: () => ups++,
    })
    it_.onEnd(() => connection.close())
    connection.open()
    for (let breaks = 0; breaks < 3; breaks++) {
      await eventually(() => ups === breaks + 1)
      await eventually(async () => (await listening()) === before + 1)
      const [, id] = /id=(\d+)\b.* name=listening /.exec(String(await it_.redis.call('CLIENT', 'LIST')))!
      await it_.redis.call('CLIENT', 'KILL', 'ID', id!)
    }
    await eventually(() => ups === 4)
    await eventually(async () => (await listening()) === before + 1)
    await connection.close()
    await eventually(async () => (await listening()) === before)
  })

  it('of which one accepts and never answers are passed over, and calls go through', async () => {
    const deaf = await startDeaf()
    const redis = targetOf(deaf.port, sentinel.port)
    await it_.worker([defineTask('echo:1.0', {}, args => args)], { redis })
    const hub = it_.hub({ redis })
    // It connects at its first call, which waits for a second.
    expect(await eventually(() => hub.call('echo:1.0', 7).catch(() => undefined))).toBe(7)
    expect(deaf.accepted()).toBeGreaterThan(0)
  })
})
