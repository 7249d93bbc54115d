import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { LoopDelay } from '../figures/loop-delay.ts'
import type { Settings } from '../settings/read.ts'
import { monotonicMs } from '../wire/clock.ts'
import { ConfigError, messageOf } from '../wire/errors.ts'
import type { Crew } from './crew.ts'

export interface HealthOptions {
  settings: Pick<Settings, 'healthPort' | 'maxBlockedMs' | 'leaseMs'>
  crews: readonly Pick<Crew, 'beat' | 'queue'>[]
  loop: Pick<LoopDelay, 'longestMs'>
  state(): 'starting' | 'serving' | 'stopping'
  isConnected(): boolean
  onOpen(port: number): void
}

/** A probe that gave up while the loop was blocked comes again within this time, and is told. */
const rememberedMs = 10_000

/** What a probe is told. */
interface Answer {
  isWell: boolean
  said: object
}

/**
 * Answers probes over HTTP, where it is given a port: `/livez`, whether the event loop turns, and `/readyz`, whether a lease is held in each
 * queue. It lives in the loop that it tells of: while that is blocked nobody answers, and the patience of the probe decides.
 */
export class Health {
  readonly #options: HealthOptions
  #server: Server | undefined
  #isClosed = false

  constructor(options: HealthOptions) {
    this.#options = options
  }

  /** @throws ConfigError when the port cannot be had */
  async open(): Promise<void> {
    const { settings, onOpen } = this.#options
    const { healthPort: port } = settings
    if (port === undefined) return
    const { createServer } = await import('node:http')
    const server = createServer((request, response) => {
      const answer = this.#answers[request.url!.split('?', 1)[0]!]?.()
      const status = answer === undefined ? 404 : answer.isWell ? 200 : 503
      const said = answer?.said ?? { error: 'Only /livez and /readyz exist here.' }
      // Each probe is a connection: one that stays open would hold up the end.
      response.writeHead(status, { 'content-type': 'application/json', connection: 'close' })
      response.end(`${JSON.stringify(said)}\n`)
    })
    await new Promise<void>((resolve, reject) => {
      server.once('error', error => reject(new ConfigError(whyNot(port, error))))
      server.listen(port, resolve)
    })
    if (this.#isClosed) return void server.close()
    this.#server = server
    onOpen((server.address() as AddressInfo).port)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    const server = this.#server
    if (!server) return
    this.#server = undefined
    await new Promise(resolve => {
      server.close(resolve)
      server.closeAllConnections()
    })
  }

  readonly #answers: Record<string, () => Answer> = {
    '/livez': () => {
      const { loop, settings } = this.#options
      const now = monotonicMs()
      const blockedMs = loop.longestMs(now - rememberedMs, now)
      const isWell = blockedMs <= (settings.maxBlockedMs || settings.leaseMs)
      return {
        isWell,
        said: isWell ? { live: true } : { live: false, reason: 'the event loop was blocked', blockedMs },
      }
    },
    '/readyz': () => {
      const reason = this.#whyNotReady()
      return { isWell: reason === undefined, said: reason === undefined ? { ready: true } : { ready: false, reason } }
    },
  }

  #whyNotReady(): string | undefined {
    const { state, crews, isConnected } = this.#options
    const now = state()
    if (now !== 'serving') return now
    const without = crews.filter(({ beat }) => !beat.isCertain)
    if (without.length === 0) return undefined
    if (!isConnected()) return 'Redis is unreachable'
    return `no lease in ${without.map(({ queue }) => queue.name).join(', ')}`
  }
}

const whyNot = (port: number, error: NodeJS.ErrnoException): string => {
  const because =
    error.code === 'EADDRINUSE'
      ? 'another program listens there; give each worker on a machine its own port'
      : messageOf(error)
  return `The worker cannot answer probes on port ${port} (healthPort, --health-port or PSHUB_HEALTH_PORT): ${because}.`
}
