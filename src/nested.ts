import { measuringSettings, type Settings } from './config.ts'
import { Hub, type HubOptions } from './hub.ts'
import type { TraceContext } from './message.ts'
import type { NestedOptions } from './task.ts'
import type { Tracing } from './tracing.ts'

/** Calls that handlers make to other tasks. Their hub, with its two connections, is only made by the first one. */
export class NestedCalls {
  readonly #settings: Readonly<Settings>
  readonly #tracing: Tracing | undefined
  #hub: Hub | undefined

  constructor(settings: Readonly<Settings>, tracing: Tracing | undefined) {
    this.#settings = settings
    this.#tracing = tracing
  }

  /** Calls with what remains of the outer call's time, and under its trace, or a span that its handler has started there. */
  call(outer: TraceContext, task: string, args: unknown, options: NestedOptions): Promise<unknown> {
    this.#hub ??= new Hub(this.#hubOptions())
    const trace = this.#tracing?.isActive() ? {} : { traceparent: outer.traceparent, tracestate: outer.tracestate }
    return this.#hub.call(task, args ?? {}, { ...options, ...trace })
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
