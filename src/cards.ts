import type { LoopMs } from './loopdelay.ts'
import type { TaskCard } from './task.ts'

/** What a worker publishes once per identity. */
export interface WorkerCard {
  id: string
  queue: string
  host: string
  pid: number
  slots: number
  /** name:version -> digest of its schemas */
  tasks: Record<string, string>
  /** Client library and its version. */
  client: string
  /** Redis seconds. */
  started: number
}

/** What a worker publishes with every beat. */
export interface WorkerStats {
  /** Redis milliseconds of the beat. */
  seen: number
  busy: number
  /** It was told to stop and finishes what runs: it takes nothing new, and callers do not count on it. */
  draining: boolean
  counters: WorkerCounters
  /** Slots' time that was used in the last minute, as a share of all there was: 0 to 1. */
  busyShare?: number
  /** How late the event loop was with its timers in the last minute, milliseconds. */
  loopMs?: LoopMs
  /** Memory of the worker's process. */
  rssBytes?: number
}

export interface WorkerCounters {
  ok: number
  failed: number
  expired: number
  malformed: number
  /** Requests without a deadline that no worker takes. */
  unserved: number
}

/** A worker as its readers see it. */
export interface LiveWorker extends WorkerCard {
  stats: WorkerStats | undefined
}

/*
 * Readers: what is in the registry was written by others, and may be anything. None of them throws.
 */

/** A JSON object, whatever is in it. */
export const parseObject = <T>(text: string | null | undefined): T | undefined => {
  if (typeof text !== 'string') return undefined
  try {
    const value = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as T) : undefined
  } catch {
    return undefined
  }
}

export const parseCard = (text: string | null): TaskCard | undefined => {
  const card = parseObject<TaskCard>(text)
  if (!card || typeof card.task !== 'string' || typeof card.queue !== 'string') return undefined
  const timeoutMs = Number(card.timeoutMs) > 0 ? Number(card.timeoutMs) : 5000
  const { maxPayloadBytes, maxBacklog, ...rest } = card
  return {
    ...rest,
    ...(Number(maxPayloadBytes) > 0 ? { maxPayloadBytes: Number(maxPayloadBytes) } : {}),
    ...(Number(maxBacklog) > 0 ? { maxBacklog: Number(maxBacklog) } : {}),
    description: String(card.description ?? ''),
    timeoutMs,
    idempotent: card.idempotent === true,
    at: Number(card.at) || 0,
  }
}

export const parseStats = (text: string | null): WorkerStats | undefined => {
  const stats = parseObject<WorkerStats>(text)
  if (!stats) return undefined
  const { seen, busy, draining, counters, busyShare, loopMs, rssBytes } = stats
  return {
    seen: Number.isFinite(seen) ? seen : Number.NaN,
    busy: Number.isFinite(busy) ? busy : 0,
    draining: draining === true,
    counters: countersOf(counters),
    ...(isAmount(busyShare) ? { busyShare: Math.min(1, busyShare) } : {}),
    ...(isAmount(loopMs?.mean) && isAmount(loopMs.p99) && isAmount(loopMs.max) ? { loopMs } : {}),
    ...(isAmount(rssBytes) ? { rssBytes } : {}),
  }
}

const countersOf = (counters: unknown): WorkerCounters => {
  const { ok, failed, expired, malformed, unserved } = (counters ?? {}) as Record<keyof WorkerCounters, unknown>
  const count = (value: unknown) => (isAmount(value) ? value : 0)
  return {
    ok: count(ok),
    failed: count(failed),
    expired: count(expired),
    malformed: count(malformed),
    unserved: count(unserved),
  }
}

const isAmount = (value: unknown): value is number => Number.isFinite(value) && (value as number) >= 0

export const parseWorkerCard = (text: string | null): WorkerCard | undefined => {
  const card = parseObject<WorkerCard>(text)
  if (!card || typeof card.id !== 'string' || typeof card.queue !== 'string') return undefined
  return {
    ...card,
    host: String(card.host ?? ''),
    pid: Number(card.pid) || 0,
    slots: Number(card.slots) || 0,
    tasks: typeof card.tasks === 'object' && card.tasks !== null ? card.tasks : {},
  }
}
