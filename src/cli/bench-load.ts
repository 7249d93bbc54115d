import { setTimeout as sleep } from 'node:timers/promises'
import type { Hub } from '../hub/hub.ts'
import { monotonicMs } from '../wire/clock.ts'
import { HubError } from '../wire/errors.ts'
import type { CallPhases } from '../wire/phases.ts'

export interface Load {
  task: string
  args: unknown
  options: { queue?: string | undefined; timeoutMs?: number }
  /** Calls in flight at the most. */
  concurrency: number
  /** Calls that begin in a second; undefined: as many as come back. */
  rate: number | undefined
  durationMs: number
}

/** What came of it so far. */
export interface Measured {
  ok: number
  /** By code. */
  errors: Record<string, number>
  /** Of the calls that ended well: all of them, or a fair choice of so many. */
  waits: CallPhases[]
  elapsedMs: number
}

const mostWaits = 50_000

/**
 * Calls until the time is up or the signal fires; what is in flight then is waited for, or given up with the signal. With a rate a call's wait
 * counts from when it was to begin: calls that could not begin in time because others were slow do not look fast.
 */
export const runLoad = async (
  hub: Hub,
  load: Load,
  signal: AbortSignal,
  onCall: (measured: Measured) => void,
): Promise<Measured> => {
  const measured: Measured = { ok: 0, errors: {}, waits: [], elapsedMs: 0 }
  const startedAt = monotonicMs()
  const end = startedAt + load.durationMs
  let begun = 0
  const next = (): number => (load.rate === undefined ? monotonicMs() : startedAt + (begun++ * 1000) / load.rate)
  const one = async (dueAt: number): Promise<void> => {
    try {
      const { phases } = await hub.call(load.task, load.args, { ...load.options, signal, phases: true })
      measured.ok++
      if (phases) keep(measured, load.rate === undefined ? phases : sinceDue(phases, monotonicMs() - dueAt))
    } catch (error) {
      if (signal.aborted) return
      const code = error instanceof HubError ? error.code : 'Error'
      measured.errors[code] = (measured.errors[code] ?? 0) + 1
      // What is refused at once would be asked for a hundred thousand times a second.
      if (load.rate === undefined) await sleep(10)
    }
    measured.elapsedMs = monotonicMs() - startedAt
    onCall(measured)
  }
  const caller = async (): Promise<void> => {
    for (let dueAt = next(); dueAt < end && !signal.aborted; dueAt = next()) {
      const waitMs = dueAt - monotonicMs()
      if (waitMs > 0) await sleep(waitMs, undefined, { signal }).catch(() => undefined)
      if (!signal.aborted) await one(dueAt)
    }
  }
  await Promise.all(Array.from({ length: load.concurrency }, caller))
  measured.elapsedMs = monotonicMs() - startedAt
  return measured
}

/** The part before the call was made is the caller's own, as is the way back. */
const sinceDue = (phases: CallPhases, sinceMs: number): CallPhases => {
  const lateUs = Math.max(0, Math.round(sinceMs * 1000) - phases.total)
  return { ...phases, reply: phases.reply + lateUs, total: phases.total + lateUs }
}

/** Each call is as likely to be among those that are kept. */
const keep = ({ waits, ok }: Measured, phases: CallPhases): void => {
  if (waits.length < mostWaits) waits.push(phases)
  else {
    const at = Math.floor(Math.random() * ok)
    if (at < mostWaits) waits[at] = phases
  }
}
