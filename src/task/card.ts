import type { Keyed } from '../wire/job-part.ts'
import type { JsonSchema } from './schema.ts'
import type { Task } from './task.ts'

/** The record of a task in the registry: its declaration, and its queue. */
export interface TaskCard {
  task: string
  queue: string
  description: string
  args?: JsonSchema
  result?: JsonSchema
  /** Schema of its chunks, or true if it yields without one; absent if that is unknown. */
  yields?: JsonSchema | true
  timeoutMs: number
  idempotent: boolean
  /** Why it needs a confirmation; true without a reason; absent if it needs none. */
  dangerous?: string | true
  /** How its jobs with the same key run; absent if they have no keys. */
  keyed?: Keyed
  /** For merged jobs: the first score of equal payloads counts. */
  scores?: 'first'
  digest: string
  /** Limits of its queue, as set for its worker: bytes of arguments as JSON, and waiting requests. */
  maxPayloadBytes?: number
  maxBacklog?: number
  /** Its workers find long arguments next to their request; absent: they expect them in it. */
  beside?: true
  /** The schemas with ExactNumbers, for display, if they have numbers that JavaScript rounds. */
  exact?: Pick<TaskCard, 'args' | 'result' | 'yields'>
  /** When a worker last published it, Redis seconds. */
  at: number
}

export const cardOf = (
  task: Task,
  queue: string,
  limits: { maxPayloadBytes: number; maxBacklog: number },
  atSeconds: number,
): TaskCard => ({
  task: task.name.full,
  queue,
  description: task.description,
  ...(task.args === undefined ? {} : { args: task.args }),
  ...(task.result === undefined ? {} : { result: task.result }),
  ...(task.yields === undefined ? {} : { yields: task.yields }),
  timeoutMs: task.timeoutMs,
  idempotent: task.idempotent,
  ...(task.dangerous === undefined ? {} : { dangerous: task.dangerous }),
  ...(task.keyed === undefined ? {} : { keyed: task.keyed }),
  ...(task.scores === 'first' ? { scores: task.scores } : {}),
  digest: task.digest,
  maxPayloadBytes: limits.maxPayloadBytes,
  maxBacklog: limits.maxBacklog,
  beside: true,
  at: atSeconds,
})
