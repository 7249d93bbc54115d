import type { CallPhases } from 'pshub'
import { type StreamedPart, taskInAddress } from '../../../call-contract.ts'
import type { ApiError } from '../../../contract.ts'
import { at } from '../../address/paths.ts'
import { jsonText, readExact } from '../../json/exact.ts'
import { type JsonNode, readJson } from '../../json/text.ts'
import { type CallChoices, headersOf } from './call-choices.ts'
import type { Failure, FinishedRun, Outcome } from './finished.ts'

/** Address of the gateway for one task, as other programs call it. */
export const gatewayUrl = (task: string): string => new URL(at(`api/call/${taskInAddress(task)}`), location.href).href

/** Runs a task through the gateway; `onPart` is told what comes before its end. Never throws: whatever goes wrong is an outcome, giving up by `signal` too. */
export const runTask = async (
  task: string,
  args: unknown,
  choices: CallChoices,
  signal: AbortSignal,
  onPart?: (part: StreamedPart) => void,
): Promise<FinishedRun> => {
  const startedMs = performance.now()
  const atMs = Date.now()
  const finished = (outcome: Outcome, headers?: Headers): FinishedRun => ({
    outcome,
    atMs,
    tookMs: performance.now() - startedMs,
    id: headers?.get('pshub-id') ?? undefined,
    phases: phasesOf(headers?.get('pshub-phases')),
  })
  try {
    const response = await fetch(gatewayUrl(task), {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(onPart && { accept: 'application/x-ndjson' }),
        ...headersOf(choices),
      },
      body: jsonText(args),
      signal,
    })
    if (onPart && response.headers.get('content-type') === 'application/x-ndjson') {
      const { outcome, id, phases } = await readParts(response, onPart)
      return { ...finished(outcome), id, phases }
    }
    const text = await response.text()
    const outcome: Outcome = response.ok
      ? { ok: true, text, node: nodeOf(text) }
      : { ok: false, failure: failureOf(text, response.status) }
    return finished(outcome, response.headers)
  } catch {
    return finished({ ok: false, failure: signal.aborted ? givenUp : unreachable })
  }
}

const givenUp: Failure = {
  code: 'Aborted',
  detail: 'You cancelled it.',
  ran: 'maybe',
  retryable: false,
  title: 'A waiting request is removed from the queue; if the handler is running, its abort signal fires.',
}

const unreachable: Failure = { code: 'Internal', detail: 'The registry cannot be reached.', ran: 'maybe' }

/** Reads the parts of a streamed call to its end. */
const readParts = async (
  response: Response,
  onPart: (part: StreamedPart) => void,
): Promise<Pick<FinishedRun, 'outcome' | 'id' | 'phases'>> => {
  let chunks = 0
  let last: StreamedPart | undefined
  for await (const line of linesOf(response)) {
    // A sign of life, while nothing has come.
    if (line === '') continue
    last = readExact(line) as StreamedPart
    if ('chunk' in last) chunks++
    if ('chunk' in last || 'progress' in last) onPart(last)
  }
  if (last && 'error' in last)
    return { outcome: { ok: false, failure: last.error }, id: last.error.id, phases: undefined }
  if (!last || !('result' in last)) throw new Error('it ended too early')
  const text = jsonText(last.result)
  return { outcome: { ok: true, text, node: nodeOf(text), chunks }, id: last.id, phases: last.phases }
}

async function* linesOf({ body }: Response): AsyncGenerator<string> {
  const reader = body!.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const lines = (rest + value).split('\n')
    rest = lines.pop()!
    yield* lines
  }
}

const nodeOf = (text: string): JsonNode | undefined => {
  try {
    return readJson(text)
  } catch {
    return undefined
  }
}

/** A proxy in between may answer anything. */
const failureOf = (text: string, status: number): Failure => {
  try {
    const problem = JSON.parse(text) as ApiError
    if (typeof problem.code === 'string' && typeof problem.detail === 'string') return problem
  } catch {
    // Told below.
  }
  return { code: 'Internal', detail: `Status ${status}, without a reason.`, ran: 'maybe' }
}

const phaseNames = ['backlog', 'queue', 'exec', 'reply', 'total'] as const

const phasesOf = (header: string | null | undefined): CallPhases | undefined => {
  try {
    const phases = JSON.parse(header ?? 'null') as CallPhases | null
    const isWhole = phases && phaseNames.every(name => Number.isFinite(phases[name]) && phases[name] >= 0)
    return isWhole ? phases : undefined
  } catch {
    return undefined
  }
}
