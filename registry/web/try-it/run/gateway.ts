import type { CallPhases } from 'pshub'
import type { ApiError } from '../../../contract.ts'
import { inAddress } from '../../address/in-address.ts'
import { at } from '../../address/paths.ts'
import { type JsonNode, readJson } from '../../json/text.ts'
import { type CallChoices, headersOf } from './call-choices.ts'
import type { Failure, FinishedRun, Outcome } from './finished.ts'

/** Address of the gateway for one task, as other programs call it. */
export const gatewayUrl = (task: string): string => new URL(at(`api/call/${inAddress(task)}`), location.href).href

/** Runs a task through the gateway. Never throws: whatever goes wrong is an outcome, giving up by `signal` too. */
export const runTask = async (
  task: string,
  args: unknown,
  choices: CallChoices,
  signal: AbortSignal,
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
        ...headersOf(choices),
      },
      body: JSON.stringify(args),
      signal,
    })
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
  message: 'You cancelled it.',
  ran: 'maybe',
  retryable: false,
  meaning: 'A request that still waited is taken out of the queue; a handler that was already running is told to stop.',
}

const unreachable: Failure = { code: 'Internal', message: 'The registry cannot be reached.', ran: 'maybe' }

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
    const { error } = JSON.parse(text) as ApiError
    if (typeof error.code === 'string' && typeof error.message === 'string') return error
  } catch {
    // Told below.
  }
  return { code: 'Internal', message: `Status ${status}, without a word about why.`, ran: 'maybe' }
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
