import type { Settings } from './config.ts'
import { Hub } from './hub.ts'
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
    const { redis, namespace, maxPayloadBytes, maxBacklog, logLevel, queue } = this.#settings
    this.#hub ??= new Hub({ redis, namespace, maxPayloadBytes, maxBacklog, logLevel, name: queue })
    const { timeoutMs, signal } = options
    return this.#hub.call(task, args ?? {}, {
      ...(timeoutMs === Number.POSITIVE_INFINITY ? {} : { timeoutMs }),
      signal,
      traceparent: from.traceparent,
    })
  }

  async close(): Promise<void> {
    await this.#hub?.close()
  }
}
