import type { RedisTargetOptions } from '../../redis/target.ts'
import type { ServedConnection } from './connection.ts'
import type { MemoryRedis } from './server.ts'

/**
 * The way of one hub or worker to the Redis in memory. ioredis makes its connections with a class of ours in place of its own, so everything above it is
 * what runs in production: handshake, encoding, pipelines, errors, coming back.
 */
export class Line {
  readonly target: RedisTargetOptions
  readonly #connections = new Set<ServedConnection>()
  #isCut = false

  constructor(redis: MemoryRedis) {
    const line = this
    class Connector {
      #stream: ServedConnection | undefined

      check(): boolean {
        return true
      }

      async connect(): Promise<ServedConnection> {
        if (line.#isCut) throw new Error('its process is gone')
        const stream = redis.connect()
        this.#stream = stream
        line.#connections.add(stream)
        stream.once('close', () => line.#connections.delete(stream))
        return stream
      }

      disconnect(): void {
        this.#stream?.destroy()
      }
    }
    this.target = { host: 'memory', protocol: 2, Connector: Connector as never }
  }

  get connections(): number {
    return this.#connections.size
  }

  /** As the kernel does it when a process was killed: nothing of what was under way comes, and nothing more is sent. */
  cut(): void {
    this.#isCut = true
    for (const connection of [...this.#connections]) connection.destroy()
  }
}
