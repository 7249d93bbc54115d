import type { WorkerStats } from '../catalogue/cards.ts'
import type { Registrar } from '../catalogue/registrar.ts'
import type { Events } from '../figures/events.ts'
import type { JobQueue } from '../queue/job-queue.ts'
import type { Queue } from '../queue/queue.ts'
import type { Connection } from '../redis/connection.ts'
import type { Settings } from '../settings/read.ts'
import type { Task } from '../task/task.ts'
import type { Claimed, HeldText } from '../wire/answers.ts'
import type { Request } from '../wire/message.ts'
import type { RedisClock } from '../wire/redis-clock.ts'
import type { Executor } from './executor.ts'
import type { Settlement } from './held.ts'
import type { Measures } from './measures.ts'
import type { Beats } from './queues/beats.ts'
import type { Slots } from './slots.ts'

/** What the roles that serve one queue share: parts of their own and of the worker, and their identity. */
export interface WorkerParts {
  readonly settings: Readonly<Settings>
  readonly tasks: ReadonlyMap<string, Task>
  readonly queue: Queue
  readonly jobQueue: JobQueue
  /** For beats, replies, releases, and claims while work waits. */
  readonly commands: Connection
  readonly beats: Beats
  readonly slots: Slots
  readonly executor: Executor
  /** The time of the Redis that the queue is in, as its answers told it. */
  readonly clock: RedisClock
  readonly registrar: Registrar
  readonly measures: Measures
  readonly events: Events
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
    take(claimed: Claimed, workerId: string, ageMs: number): { ms: number; ofJobs: boolean } | undefined
    ignoreClaimsOf(ids: readonly string[], nowUs: number): void
  }
  readonly settle: { add(settlement: Settlement): void }
  readonly fetch: { slotsIdle(): void }
  readonly due: { onBell(): void }
  readonly tick: { onBell(): void }
  readonly forward: {
    send(outs: readonly HeldText[], workerId: string): void
    move(job: Request, shard: string, workerId: string, nowUs: number): void
  }
  readonly sharding: {
    epochOf(queue: string): number
    homeOf(queue: string, key: string): string
    isGone(queue: string): boolean
  }
  readonly beat: {
    readonly isCertain: boolean
    readonly sentAt: number
    beatNow(): Promise<boolean>
    beatAnew(): Promise<boolean>
  }
  readonly streams: { close(request: Request): void }
  readonly progress: { end(request: Request): void }
  readonly adopt: { answer(requests: readonly HeldText[], workerId: string): void }
}
