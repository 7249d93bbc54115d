import type { CallPhases, Progress } from 'pshub'
import type { ApiError } from './contract.ts'

/** What comes of POST api/call/<task> with `accept: text/event-stream` or `application/x-ndjson`, one after the other; the last one is `result` or `error`. */
export type StreamedPart =
  | { chunk: unknown }
  | { progress: Progress }
  | { result: unknown; id?: string | undefined; phases?: CallPhases | undefined }
  | { error: ApiError }

/**
 * The name of a task as the end of an address. Its slashes stay, because Apache refuses encoded ones unless it is told otherwise; but not where
 * something on the way would take a part between them for a step, or leave it out.
 */
export const taskInAddress = (task: string): string => {
  // No browser asks for a lone surrogate, nor for these two names, however they are written.
  const whole = /^\.{1,2}$/.test(task) ? '\ufffd' : task.replace(/\p{Cs}/gu, '\ufffd')
  const parts = whole.split('/')
  const encoded = parts.some(part => /^\.{0,2}$/.test(part)) ? [whole] : parts
  return encoded.map(part => encodeURIComponent(part).replaceAll('%3A', ':')).join('/')
}
