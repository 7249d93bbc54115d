import type { FinishedRun } from './finished.ts'

export interface RepeatSummary {
  done: number
  ok: number
  /** How often each error came. */
  failures: [code: string, count: number][]
  /** Waits of those that succeeded, milliseconds; undefined while none has. */
  waits: { least: number; p50: number; p95: number; most: number } | undefined
}

/** What many runs of the same arguments come to. */
export const summaryOf = (runs: readonly FinishedRun[]): RepeatSummary => {
  const failures = new Map<string, number>()
  const waits: number[] = []
  for (const { outcome, tookMs } of runs) {
    if (outcome.ok) waits.push(tookMs)
    else failures.set(outcome.failure.code, (failures.get(outcome.failure.code) ?? 0) + 1)
  }
  waits.sort((a, b) => a - b)
  const at = (share: number) => waits[Math.min(waits.length - 1, Math.ceil(share * waits.length) - 1)]!
  return {
    done: runs.length,
    ok: waits.length,
    failures: [...failures],
    waits: waits.length === 0 ? undefined : { least: waits[0]!, p50: at(0.5), p95: at(0.95), most: waits.at(-1)! },
  }
}
