import { Connection, type Redis } from '../../redis/connection.ts'
import { explained } from '../../redis/refusals.ts'
import { checkTarget, describeTarget, type RedisTarget } from '../../redis/target.ts'
import { signalAfter } from '../../wire/clock.ts'

/** A request without an answer for this long condemns its connection. */
const stallMs = 5000
/** How long a batch waits for a connection before it is left to a later try. */
const patienceMs = 2000

/** The connection of a target to another Redis, made when it is needed first. */
export class RedisLink {
  readonly #target: RedisTarget
  readonly #connection: Connection

  /** @throws ConfigError */
  constructor(redis: RedisTarget) {
    checkTarget(redis)
    this.#target = redis
    this.#connection = new Connection({ target: redis, name: 'pshub-forwarder', stallMs })
  }

  /** Rejects with why it may not have been done. */
  async send<T>(commands: (client: Redis) => Promise<T>, signal: AbortSignal): Promise<T> {
    const connection = this.#connection
    connection.open()
    await connection.whenReady(signalAfter(patienceMs, signal))
    // It may be on its way a second time by now.
    signal.throwIfAborted()
    try {
      return await connection.send(commands)
    } catch (error) {
      const { message } = error as Error
      // What is known of rights elsewhere is about those that pshub itself needs.
      const reason = message.startsWith('NOPERM') ? message : explained(message)
      throw new Error(`Redis at ${describeTarget(this.#target)}: ${reason}`)
    }
  }

  close(): Promise<void> {
    return this.#connection.close()
  }
}
