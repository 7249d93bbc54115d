import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { useRedis } from '../support/hub-fixture.ts'

const it_ = useRedis()

/** As somebody may do who tunnels. */
class OwnConnector {
  connecting = false
  readonly #options: { port: number }
  #stream: ReturnType<typeof connect> | undefined

  constructor(options: unknown) {
    this.#options = options as { port: number }
  }

  async connect() {
    this.connecting = true
    this.#stream = connect(this.#options.port, '127.0.0.1')
    return this.#stream
  }

  check() {
    return true
  }

  disconnect() {
    this.connecting = false
    this.#stream?.end()
  }
}

describe('options of ioredis', () => {
  it.each([
    ['enableAutoPipelining', { enableAutoPipelining: true }],
    ['RESP2', { protocol: 2 as const }],
    ['maps as objects', { protocol: 3 as const, replyMapping: 'resp3' as const }],
    [
      'delays of TCP, scripts and names',
      { noDelay: false, scripts: { own: { lua: 'return 1' } }, connectionName: 'own' },
    ],
    ['a connector', { Connector: OwnConnector as never, port: 0 }],
  ])('change nothing where they are passed on or overridden: %s', async (_, given) => {
    const redis = { host: '127.0.0.1', ...given, port: it_.server.port }
    const task = defineTask('echo:1.0', { idempotent: true }, args => args)
    const worker = await it_.worker([task], { redis })
    const problems: string[] = []
    worker.events.on('problem', ({ where, reason }) => where !== 'keepalive' && problems.push(reason))
    worker.events.on('lease:lost', () => problems.push('the lease was lost'))
    const hub = it_.hub({ redis })
    const calls = Array.from({ length: 300 }, (_, n) => hub.call('echo:1.0', n, { timeoutMs: 15_000 }))
    expect(await Promise.all(calls)).toEqual(calls.map((_, n) => n))
    expect((await hub.overview()).tasks.map(({ task }) => task)).toEqual(['echo:1.0'])
    await new Promise(resolve => worker.events.on('worker:beat', resolve))
    expect(problems).toEqual([])
  })
})
