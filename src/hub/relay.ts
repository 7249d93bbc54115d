import { stepMessage } from '../jobs/chain.ts'
import { defaultEnqueueMs } from '../jobs/enqueue-options.ts'
import { monotonicMs } from '../wire/clock.ts'
import type { TraceContext } from '../wire/message.ts'
import { Hub } from './hub.ts'

/** A job of another hub. */
export interface RelayedJob extends TraceContext {
  id: string
  task: string
  args: unknown
  key?: string | undefined
  from?: string | undefined
}

/** Takes over jobs of other hubs. */
export class RelayHub extends Hub {
  /**
   * Enqueues a job under the id that it has there, once, however often it is sent within `rememberMs`. A key counts where the task is keyed
   * here, too.
   *
   * @throws HubError as enqueue(), but for OutcomeUnknown: it may be sent again
   */
  async relay(job: RelayedJob, queue: string | undefined, rememberMs: number): Promise<void> {
    const { id, task, args, key, from, traceparent, tracestate } = job
    const { enqueuing, jobHost } = this
    const route = await enqueuing.routeOf(task, { queue }, monotonicMs() + defaultEnqueueMs)
    const step = { ...enqueuing.stepOf(route, args, route.keyed ? { key } : {}), id }
    const message = stepMessage([step], { from, traceparent, tracestate })
    await jobHost.ask(client => jobHost.queueOf(step.queue).forward(client, message, rememberMs))
  }
}
