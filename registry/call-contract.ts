import type { CallPhases, Progress } from 'pshub'
import type { ApiError } from './contract.ts'

/** What comes of POST api/call/<task> with `accept: text/event-stream` or `application/x-ndjson`, one after the other; the last one is `result` or `error`. */
export type StreamedPart =
  | { chunk: unknown }
  | { progress: Progress }
  | { result: unknown; id?: string | undefined; phases?: CallPhases | undefined }
  | { error: ApiError['error'] }
