import type { Task } from '../task/task.ts'
import type { EnqueueOptions } from './enqueue-options.ts'

/** One of many: a task with its arguments, and how it is to be run. */
export type EnqueueEntry = readonly [task: string | Task<never, unknown>, args?: unknown, options?: EnqueueOptions]

/** A step of a chain; `pass`: the field of its arguments that gets the result of the step before it. */
export type ChainEntry = readonly [
  task: string | Task<never, unknown>,
  args?: unknown,
  options?: EnqueueOptions & { pass?: string | undefined },
]

/** How many are enqueued at once. */
export interface EnqueueManyOptions {
  /** Only look whether all could be enqueued: nothing is sent, and there are no ids. */
  checkOnly?: boolean | undefined
  /** Called after each batch with how many were confirmed so far. */
  onProgress?: ((enqueued: number) => void) | undefined
}

/** What became of many. */
export interface EnqueuedMany {
  /** In the order of the entries; of a job that was there already, its id. */
  ids: string[]
  /** How many were there already. */
  twins: number
}

export interface BatchOptions extends EnqueueOptions {
  /** What is enqueued when all have ended. */
  then?: EnqueueEntry | undefined
  /** In place of that where one of them is dead, has expired or was cancelled. */
  failed?: EnqueueEntry | undefined
}
