import { measuringSettings, type Settings } from './config.ts'
import { Hub, type HubOptions } from './hub.ts'
import type { Request } from './message.ts'

/** Calls that handlers make to other tasks. Their hub, with its two connections, is only made by the first one. */
export class NestedCalls {
  readonly #settings: Readonly<Settings>
  #hub: Hub | undefined

  constructor(settings: Readonly<Settings>) {
    this.#settings = settings
  }

  /** Calls with what remains of the outer call's time, and under its trace. */
  call(
    from: Request,
    task: string,
    args: unknown,
    options: { timeoutMs: number; signal: AbortSignal },
  ): Promise<unknown> {
    this.#hub ??= new Hub(this.#hubOptions())
    const { timeoutMs, signal } = options
    return this.#hub.call(task, args ?? {}, {
      ...(timeoutMs === Number.POSITIVE_INFINITY ? {} : { timeoutMs }),
      signal,
      traceparent: from.traceparent,
    })
  }

  /** The hub's settings are those of the worker; callers see the queue's name. */
  #hubOptions(): HubOptions {
    const { redis, namespace, maxPayloadBytes, maxBacklog, queue: name } = this.#settings
    const measuring = Object.fromEntries(measuringSettings.map(setting => [setting, this.#settings[setting]]))
    return { redis, namespace, maxPayloadBytes, maxBacklog, name, ...measuring }
  }

  async close(): Promise<void> {
    await this.#hub?.close()
  }
}
