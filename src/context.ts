import type { Claimed } from './answers.ts'
import type { WorkerStats } from './cards.ts'
import type { Settings } from './config.ts'
import type { Executor } from './executor.ts'
import type { Settlement } from './held.ts'
import type { BlockedLines } from './logger.ts'
import type { Measures } from './measures.ts'
import type { Request } from './message.ts'
import type { Pulse } from './pulse.ts'
import type { Queue } from './queue.ts'
import type { Connection } from './redis.ts'
import type { RedisClock } from './redisclock.ts'
import type { Registrar } from './registrar.ts'
import type { Slots } from './slots.ts'
import type { Task } from './task.ts'
import type { Events } from './telemetry.ts'

/** What the roles of one worker share: its parts, and its identity. */
export interface WorkerParts {
  readonly settings: Readonly<Settings>
  readonly tasks: ReadonlyMap<string, Task>
  readonly queue: Queue
  /** For beats, replies, releases, and claims while work waits. */
  readonly commands: Connection
  /** Where it waits for the bell. */
  readonly waiting: Connection
  readonly slots: Slots
  readonly executor: Executor
  readonly pulse: Pulse
  /** Redis' time, as its answers told it. */
  readonly clock: RedisClock
  readonly registrar: Registrar
  readonly measures: Measures
  readonly events: Events
  /** Log lines for when this thread cannot write any. */
  readonly blockedLines: BlockedLines
  /** The present identity. */
  workerId(): string
  /** The lease was lost: from now on workerId() is another. */
  becomeNew(): void
  isServing(): boolean
}

/** What roles ask of each other: none of them knows another. */
export interface WorkerContext extends WorkerParts {
  /** For a rejection: what was refused is told, with the part of the worker that it concerns. */
  problem(where: string): (error: Error) => void
  /** The worker as others see it, at this time of Redis. */
  stats(seenMs: number): WorkerStats

  /** Starts what a claim brought, `ageMs` after Redis made it. Returns how long to wait before the next one. */
  take(claimed: Claimed, workerId: string, ageMs: number): number
  /** Reads a request taken over from a lost worker; undefined when it is none. */
  decode(text: string, heldId: string): Request | undefined
  /** Claims of these that were made up to `nowUs` (Redis) are void; a later one is a new one. */
  ignoreClaimsOf(ids: readonly string[], nowUs: number): void
  /** Requests that were started, given up when the worker leaves, and may run again: as they go back to their lists. */
  returning(): { id: string; text: string }[]

  /** The request ended: reply, then release. */
  settle(settlement: Settlement): void

  /** A slot is idle, or may be. */
  slotsIdle(): void

  /** Renews the lease, or takes one under a new identity. Resolves with whether it is held; false when Redis is away. */
  beatNow(): Promise<boolean>
  /** The same with an answer of now, and not of one that waited here while the loop was blocked. */
  beatAnew(): Promise<boolean>
  /** False when the lease may have ended since it was renewed last: others may answer for what is held here. */
  isLeaseCertain(): boolean

  /** Decides about requests that were taken over from lost workers. */
  redirect(requests: readonly { id: string; text: string }[], workerId: string, nowUs: number): Promise<void>
}
