import type { Keyed } from '../wire/job-part.ts'
import type { JsonSchema } from './schema.ts'
import type { Task } from './task.ts'

/** What the registry knows of a task: its declaration, and where it runs. */
export interface TaskCard {
  task: string
  queue: string
  description: string
  args?: JsonSchema
  result?: JsonSchema
  /** Its handler yields: the schema of each chunk, or true where none was declared; absent: nobody knows of any. */
  yields?: JsonSchema | true
  timeoutMs: number
  idempotent: boolean
  /** Why running it by mistake does harm; true: nobody said why; absent: it does none. */
  dangerous?: string | true
  /** How its jobs with the same key are run; absent: they have no keys. */
  keyed?: Keyed
  /** Of merged jobs, where the first score of equal payloads counts. */
  scores?: 'first'
  digest: string
  /** Limits of its queue, as its worker was told: arguments in bytes of JSON, and requests that may wait. */
  maxPayloadBytes?: number
  maxBacklog?: number
  /** Its workers find long arguments beside their request; absent: they look for them in it. */
  beside?: true
  /** The schemas with ExactNumbers, where they have numbers that JavaScript rounds: for showing them. */
  exact?: Pick<TaskCard, 'args' | 'result' | 'yields'>
  /** Redis seconds of the last time a worker published it. */
  at: number
}

/** A card with the numbers of its schemas as they were written. */
export const asWritten = <T extends Pick<TaskCard, 'exact'>>({ exact, ...card }: T) => ({ ...card, ...exact })

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
