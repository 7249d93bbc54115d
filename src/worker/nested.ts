import type { HubOptions } from '../hub/call-options.ts'
import { Hub } from '../hub/hub.ts'
import type { Tracing } from '../outlets/tracing.ts'
import { measuringSettings, type Settings } from '../settings/read.ts'
import type { NestedOptions } from '../task/task.ts'
import type { TraceContext } from '../wire/message.ts'

/** Calls that handlers make to other tasks. Their hub, with its two connections, is only made by the first one. */
export const makeNestedCalls = (settings: Readonly<Settings>, queue: string, tracing: Tracing | undefined) => {
  let hub: Hub | undefined
  return {
    /** Calls with what remains of the outer call's time, and under its trace, or a span that its handler has started there. */
    call(outer: TraceContext, task: string, args: unknown, options: NestedOptions): Promise<unknown> {
      hub ??= new Hub(hubOptionsOf(settings, queue))
      const trace = tracing?.isActive() ? {} : { traceparent: outer.traceparent, tracestate: outer.tracestate }
      return hub.call(task, args ?? {}, { ...options, ...trace })
    },
    async close(): Promise<void> {
      await hub?.close()
    },
  }
}

/** The hub's settings are those of the worker; who is called sees the queue's name. */
const hubOptionsOf = (settings: Readonly<Settings>, name: string): HubOptions => {
  const { redis, namespace, maxPayloadBytes, maxBacklog, bigint } = settings
  const measuring = Object.fromEntries(measuringSettings.map(setting => [setting, settings[setting]]))
  return { redis, namespace, maxPayloadBytes, maxBacklog, bigint, name, ...measuring }
}
