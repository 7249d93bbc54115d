import type { Keyed } from '../wire/job-part.ts'
import type { JsonSchema } from './schema.ts'
import type { Task } from './task.ts'

/** What the registry knows of a task: its declaration, and where it runs. PROTOCOL.md's table is made of these comments. */
export interface TaskCard {
  /** Full name. `task` and `queue` SHOULD come first: `pshub_1_declare` looks for the queue in the first 1024 characters. */
  task: string
  /** The queue that serves it. */
  queue: string
  /** Markdown; lists show the first line. */
  description: string
  /** JSON Schema of the arguments. Absent: any value. */
  args?: JsonSchema
  /** JSON Schema of the result. Absent: any value. */
  result?: JsonSchema
  /** The handler yields (section 9.10): JSON Schema of a chunk, or `true`. Absent: unknown. */
  yields?: JsonSchema | true
  /** Default timeout of calls, above 0. Absent: 5000. */
  timeoutMs: number
  /** Running it twice is harmless. Absent: `false`. */
  idempotent: boolean
  /** `true`, or the reason in at most 500 characters: user interfaces SHOULD ask before they run it. */
  dangerous?: string | true
  /** `ordered` (section 10.17) or `merged` (section 10.18). Absent: no keys. */
  keyed?: Keyed
  /** The first score of equal merged payloads counts. Absent: the last. */
  scores?: 'first'
  /**
   * First 12 hex digits of the SHA-256 of `[<args>,<result>]`, or `[<args>,<result>,<yields>]` if `yields` is a schema, as canonical JSON
   * (RFC 8785, numbers as doubles), `null` for an absent one. Live workers with different digests of a version are reported.
   */
  digest: string
  /** The queue's limit of arguments, bytes of JSON. A caller keeps to the smaller of this and its own. */
  maxPayloadBytes?: number
  /** The queue's limit of waiting requests, likewise. */
  maxBacklog?: number
  /** Its workers claim with the library, so long arguments may be stored apart (section 9.1). */
  beside?: true
  // Not on the card: the schemas with ExactNumbers, where they have numbers that JavaScript rounds, for showing them.
  exact?: Pick<TaskCard, 'args' | 'result' | 'yields'>
  /** Redis seconds of the last write. */
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
