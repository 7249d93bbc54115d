import type { AsyncResource } from 'node:async_hooks'
import type { Caller } from '../call.ts'
import type { WithPhases } from '../call-options.ts'
import type { HubStream } from './hub-stream.ts'

/** A stream as the caller of its call. Not a method: what users see of a stream would name the types of tracing, which not everybody has. */
export const streamCaller = (
  stream: HubStream,
  { startedAt, context, onEnd }: { startedAt: number; context: AsyncResource | undefined; onEnd: () => void },
): Caller => ({
  startedAt,
  span: undefined,
  context,
  listener: stream,
  resolve(answer, chunks) {
    onEnd()
    stream.onResult(answer as WithPhases, chunks)
  },
  reject(error) {
    onEnd()
    stream.onFailed(error)
  },
})
