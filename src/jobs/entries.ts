import type { AnyTasks, ArgsOf, Called, Entry } from '../task/task.ts'
import { namesOf } from '../wire/options.ts'
import { type EnqueueOptions, enqueueOptionNames, entryOptionNames } from './enqueue-options.ts'

/** One of many: a task with its arguments, and how it is to be run. */
export type EnqueueEntry<T = Called, Tasks = AnyTasks> = Entry<T, EnqueueOptions, Tasks>

/** A step of a chain; `pass`: the field of its arguments that gets the result of the step before it, and may be missing there. */
export type ChainEntry<T = Called, Tasks = AnyTasks> =
  | Entry<T, EnqueueOptions & { pass?: undefined }, Tasks>
  | readonly [task: T, args: Partial<ArgsOf<T, Tasks>> | undefined, options: EnqueueOptions & { pass: string }]

export const stepOptionNames = new Set([...entryOptionNames, 'pass'])

/** How many are enqueued at once. */
export interface EnqueueManyOptions {
  /** Only look whether all could be enqueued: nothing is sent, and there are no ids. */
  checkOnly?: boolean | undefined
  /** Called after each batch with how many were confirmed so far. */
  onProgress?: ((enqueued: number) => void) | undefined
}

export const enqueueManyNames = namesOf<EnqueueManyOptions>({ checkOnly: true, onProgress: true })

/** What became of many. */
export interface EnqueuedMany {
  /** In the order of the entries; of a job that was there already, its id. */
  ids: string[]
  /** How many were there already. */
  twins: number
}

export interface BatchOptions<Then = Called, Failed = Called> extends EnqueueOptions {
  /** What is enqueued when all have ended. */
  then?: EnqueueEntry<Then> | undefined
  /** In place of that where one of them is dead, has expired or was cancelled. */
  failed?: EnqueueEntry<Failed> | undefined
}

export const batchOptionNames = new Set([...enqueueOptionNames, 'then', 'failed'])
