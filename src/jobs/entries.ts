import type { AnyTasks, ArgsOf, Called, Entry } from '../task/task.ts'
import { namesOf } from '../wire/options.ts'
import { type EnqueueOptions, enqueueOptionNames, entryOptionNames } from './enqueue-options.ts'

/** An entry of many: a task with its arguments, and the options of its job. */
export type EnqueueEntry<T = Called, Tasks = AnyTasks> = Entry<T, EnqueueOptions, Tasks>

/** A step of a chain; `pass`: the field of its arguments that receives the result of the previous step and may be missing there. */
export type ChainEntry<T = Called, Tasks = AnyTasks> =
  | Entry<T, EnqueueOptions & { pass?: undefined }, Tasks>
  | readonly [task: T, args: Partial<ArgsOf<T, Tasks>> | undefined, options: EnqueueOptions & { pass: string }]

export const stepOptionNames = new Set([...entryOptionNames, 'pass'])

/** How to enqueue many jobs. */
export interface EnqueueManyOptions {
  /** Only check whether all jobs can be enqueued: nothing is sent, and there are no ids. */
  checkOnly?: boolean | undefined
  /** Called after each batch with the number of jobs confirmed so far. */
  onProgress?: ((enqueued: number) => void) | undefined
}

export const enqueueManyNames = namesOf<EnqueueManyOptions>({ checkOnly: true, onProgress: true })

/** The outcome of enqueueMany(). */
export interface EnqueuedMany {
  /** Ids in the order of the entries; for a duplicate, the id of the existing job. */
  ids: string[]
  /** How many entries were duplicates of existing jobs. */
  twins: number
}

export interface BatchOptions<Then = Called, Failed = Called> extends EnqueueOptions {
  /** Enqueued when all jobs have ended. */
  then?: EnqueueEntry<Then> | undefined
  /** Enqueued instead if a job is dead, expired or cancelled. */
  failed?: EnqueueEntry<Failed> | undefined
}

export const batchOptionNames = new Set([...enqueueOptionNames, 'then', 'failed'])
