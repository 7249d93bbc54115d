import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { ConfigError, defineTask, Hub } from '../../src/index.ts'
import { parseStatsdAddress } from '../../src/settings/statsd-address.ts'
import { ChaosProxy } from '../support/chaos-proxy.mjs'
import { eventually, useRedis } from '../support/hub-fixture.ts'
import { startStatsd } from '../support/statsd-daemon.ts'

const server = useRedis()
const dir = mkdtempSync(join(tmpdir(), 'pshub-statsd-away-'))
afterAll(() => rmSync(dir, { recursive: true, force: true }))

const echo = defineTask('echo:1.0', {}, n => n)

/** One that accepts connections and never reads from them. */
const startDeaf = async (): Promise<number> => {
  const sockets: Socket[] = []
  const deaf = createServer({ pauseOnConnect: true }, socket => {
    sockets.push(socket)
    socket.on('error', () => undefined)
  })
  await new Promise<void>(done => deaf.listen(0, '127.0.0.1', done))
  server.onEnd(() => {
    for (const socket of sockets) socket.destroy()
    deaf.close()
  })
  return (deaf.address() as AddressInfo).port
}

/** One that accepts connections and ends them. */
const startRude = async (): Promise<number> => {
  const rude = createServer(socket => socket.destroy())
  await new Promise<void>(done => rude.listen(0, '127.0.0.1', done))
  server.onEnd(() => rude.close())
  return (rude.address() as AddressInfo).port
}

const awayBy: Record<string, () => Promise<string> | string> = {
  'UDP and nobody listens': () => '127.0.0.1:1',
  'TCP and nobody listens': () => 'tcp://127.0.0.1:1',
  'TCP and a name that nobody knows': () => 'tcp://no-such-host.invalid:8125',
  'TCP and a daemon that does not read': async () => `tcp://127.0.0.1:${await startDeaf()}`,
  'TCP and a daemon that hangs up': async () => `tcp://127.0.0.1:${await startRude()}`,
  'a Unix socket that is not there': () => `unix://${dir}/nobody`,
}

describe('a StatsD daemon that is away', () => {
  it.each(Object.entries(awayBy))('%s: no call hears of it, and it is told once', async (how, address) => {
    const statsd = await address()
    const problems: string[] = []
    const worker = await server.worker([echo], { statsd, statsdFlushMs: 10, slots: 16 })
    const hub = server.hub({ statsd, statsdFlushMs: 10 })
    for (const [who, { events }] of Object.entries({ hub, worker }))
      events.on('problem', ({ where, reason }) => problems.push(`${who}: ${where}: ${reason}`))
    const round = async () => {
      const all = await Promise.all(Array.from({ length: 20 }, (_, n) => hub.call('echo:1.0', n)))
      expect(all).toEqual(Array.from({ length: 20 }, (_, n) => n))
    }
    // The system's own buffers take all of this from one that does not read.
    const tellers = how.endsWith('does not read') ? [] : ['hub', 'worker']
    await eventually(async () => {
      await round()
      return problems.length >= tellers.length
    })
    for (let more = 0; more < 10; more++) await round()
    expect(problems.sort()).toEqual(
      tellers.map(who => expect.stringContaining(`${who}: statsd: No metrics reach ${statsd}: `)),
    )
    await Promise.all([hub.close(), worker.stop()])
  })

  it('is found again by TCP when it is there', async () => {
    const daemon = await startStatsd()
    const proxy = await ChaosProxy.start(daemon.port)
    server.onEnd(() => Promise.all([proxy.stop(), daemon.stop()]))
    proxy.refuse = true
    await server.worker([echo])
    const statsd = `tcp://127.0.0.1:${proxy.port}`
    const hub = server.hub({ statsd, statsdFormat: 'graphite', statsdFlushMs: 20 })
    const problems: string[] = []
    hub.events.on('problem', ({ reason }) => problems.push(reason))
    const callUntil = (condition: () => boolean) =>
      eventually(async () => {
        await hub.call('echo:1.0', 1)
        return condition()
      })
    await callUntil(() => problems.length > 0)
    proxy.heal()
    await callUntil(() => (daemon.flushed.counters['pshub.call.ok.echo_1_0'] ?? 0) > 2)
    expect(problems).toHaveLength(1)
  })
})

describe('a StatsD daemon at a Unix socket', () => {
  it('gets datagrams there, also after it came back', async () => {
    const path = join(dir, 'daemon')
    const { createSocket } = createRequire(import.meta.url)('unix-dgram')
    const listen = () => {
      const lines: string[] = []
      const socket = createSocket('unix_dgram', (data: Buffer) => lines.push(...String(data).split('\n')))
      socket.bind(path)
      const close = () => {
        socket.close()
        rmSync(path)
      }
      return { lines, close }
    }
    await server.worker([echo])
    const first = listen()
    const hub = server.hub({ statsd: `unix://${path}`, statsdFlushMs: 20 })
    await hub.call('echo:1.0', 1)
    await eventually(() => first.lines.some(line => line.startsWith('pshub.call.ok:1|c|#task:echo:1.0,')))
    first.close()
    await hub.call('echo:1.0', 1)
    const second = listen()
    await eventually(async () => {
      await hub.call('echo:1.0', 1)
      return second.lines.some(line => line.startsWith('pshub.call.time:'))
    }, 10_000)
    await hub.close()
    second.close()
  })
})

describe('the address of a StatsD daemon', () => {
  it.each([
    ['localhost:8125', { kind: 'udp', host: 'localhost', port: 8125 }],
    ['udp://[::1]:1', { kind: 'udp', host: '::1', port: 1 }],
    ['tcp://10.0.0.1:65535', { kind: 'tcp', host: '10.0.0.1', port: 65_535 }],
    ['unix:///run/statsd.sock', { kind: 'unix', path: '/run/statsd.sock' }],
  ])('%s is understood', (text, address) => {
    expect(parseStatsdAddress(text)).toEqual(address)
  })

  it.each(['localhost', ':8125', 'host:0', 'host:65536', 'http://host:1', 'unix://relative', '::1:8125', 'a b:1', ''])(
    '%j is refused',
    text => {
      expect(parseStatsdAddress(text)).toBeUndefined()
      expect(() => new Hub({ statsd: text })).toThrow(ConfigError)
    },
  )
})
