import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { command } from '../../src/redis/client.ts'
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

  it('of which all but the last never answer do not take up the time of each new client', async () => {
    const deaf = [await startDeaf(), await startDeaf(), await startDeaf(), await startDeaf()]
    const downs: string[] = []
    const connection = new Connection({
      target: targetOf(...deaf.map(({ port }) => port), sentinel.port),
      name: 'test',
      stallMs: 2000,
      onDown: reason => downs.push(reason.message),
    })
    it_.onEnd(() => connection.close())
    connection.open()
    await connection.whenReady()
    expect(await connection.send(client => command(client, 'ping'))).toBe('PONG')
    expect(downs).not.toEqual([])
  })

  it('that are away are not told of on stderr, where nobody asked for it', async () => {
    const said = vi.spyOn(console, 'error')
    it_.onEnd(() => said.mockRestore())
    const deaf = await startDeaf()
    // Nobody listens at port 1.
    const target = targetOf(sentinel.port, deaf.port, 1)
    const connection = new Connection({ target, name: 'test', stallMs: 2000 })
    it_.onEnd(() => connection.close())
    connection.open()
    await connection.whenReady()
    // It gives up the one that says nothing, where it would hear of a failover.
    await eventually(() => deaf.accepted() > 0)
    await eventually(() => deaf.sockets.size === 0)
    expect(connection.isReady).toBe(true)
    expect(said).not.toHaveBeenCalled()
  })

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
})
