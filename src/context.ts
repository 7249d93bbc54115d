import type { Claimed } from './answers.ts'
import type { WorkerStats } from './cards.ts'
import type { Settings } from './config.ts'
import type { Executor } from './executor.ts'
import type { HeldText, Settlement } from './held.ts'
import type { BlockedLines } from './logger.ts'
import type { Measures } from './measures.ts'
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

/** The parts, and what roles ask of each other: none of them knows another, or more of it than this. */
export interface WorkerContext extends WorkerParts {
  /** For a rejection: what was refused is told, with the part of the worker that it concerns. */
  problem(where: string): (error: Error) => void
  /** The worker as others see it, at this time of Redis. */
  stats(seenMs: number): WorkerStats

  readonly intake: {
    take(claimed: Claimed, workerId: string, ageMs: number): number
    ignoreClaimsOf(ids: readonly string[], nowUs: number): void
    returning(): HeldText[]
  }
  readonly settle: { add(settlement: Settlement): void }
  readonly fetch: { slotsIdle(): void }
  readonly beat: { readonly isCertain: boolean; beatNow(): Promise<boolean>; beatAnew(): Promise<boolean> }
  readonly adopt: { redirect(requests: readonly HeldText[], workerId: string, nowUs: number): Promise<void> }
}
