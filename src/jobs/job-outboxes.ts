import type { Connection } from '../redis/connection.ts'
import type { Keys } from '../wire/keys.ts'
import type { JobHost } from './job.ts'
import { JobOutbox } from './job-outbox.ts'

export interface JobOutboxesOptions {
  host: JobHost
  keys: Keys
  commands: Connection
  /** Makes the connection for jobs that are to be on a replica, too. */
  makeDurable(): Connection
}

/**
 * The ways of one hub's jobs into queues. Those that are to be confirmed by a replica have numbers and a connection of their own, made with
 * the first of them: WAIT holds up all that is sent behind it.
 */
export class JobOutboxes {
  readonly #options: JobOutboxesOptions
  readonly #plain = new Map<string, JobOutbox>()
  readonly #durable = new Map<string, JobOutbox>()
  #connection: Connection | undefined

  constructor(options: JobOutboxesOptions) {
    this.#options = options
  }

  of(queue: string, isDurable: boolean): JobOutbox {
    const outboxes = isDurable ? this.#durable : this.#plain
    let outbox = outboxes.get(queue)
    if (!outbox) {
      outbox = this.#make(queue, isDurable)
      outboxes.set(queue, outbox)
    }
    return outbox
  }

  /** Nobody will hear of what is not answered by now. */
  async stop(): Promise<void> {
    for (const outbox of [...this.#plain.values(), ...this.#durable.values()]) outbox.stop()
    await this.#connection?.close()
  }

  /** The keys that are left in Redis. */
  usedKeys(): string[] {
    const { host, keys } = this.#options
    const used = (outboxes: ReadonlyMap<string, JobOutbox>, hubId: string) =>
      [...outboxes].filter(([, outbox]) => outbox.used).map(([queue]) => keys.queue(queue).enqueued(hubId))
    return [...used(this.#plain, host.hubId), ...used(this.#durable, durableId(host.hubId))]
  }

  #make(name: string, isDurable: boolean): JobOutbox {
    const { host, commands, makeDurable } = this.#options
    const queue = host.queueOf(name)
    if (isDurable) {
      this.#connection ??= makeDurable()
      this.#connection.open()
    }
    const connection = (isDurable ? this.#connection! : commands).at(queue.keys.jobs)
    const hubId = isDurable ? durableId(host.hubId) : host.hubId
    return new JobOutbox({ connection, queue, hubId, isDurable, closing: host.closing })
  }
}

/** As whom a hub numbers them: a repeat of the one kind must not be taken for one of the other. */
const durableId = (hubId: string): string => `${hubId}-durable`
