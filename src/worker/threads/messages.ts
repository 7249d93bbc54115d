import type { NestedOptions, TaskContext, TaskLog } from '../../task/task.ts'
import type { Problem } from '../../wire/errors.ts'
import type { Progress } from '../../wire/stream.ts'
import type { CarriedError } from './carried-error.ts'

/** What a thread is given with its port: it finds the first of the messages to it there. */
export interface ThreadRequest
  extends Pick<TaskContext, 'id' | 'task' | 'from' | 'attempt' | 'isJob' | 'us' | 'fence'> {
  /** Where it finds the task. */
  module: string
  args: unknown
  /** On the clock of sharedMs(). */
  deadline: number
}

/** What the main thread tells it of a run. */
export type ToThread =
  | { is: 'aborted'; reason: CarriedError }
  | { is: 'answer'; call: number; result: unknown }
  | { is: 'failure'; call: number; error: CarriedError }
  /** There is room for another chunk. */
  | { is: 'more' }
  /** No further chunk is wanted. */
  | { is: 'stop' }

/** What it tells the main thread meanwhile. */
export type FromThread =
  | { is: 'begun' }
  /** The thread can run nothing. It says no more after this, and is to be ended. */
  | { is: 'unfit'; reason: string }
  | { is: 'log'; level: keyof TaskLog; message: string; fields: Record<string, unknown> | undefined }
  | { is: 'progress'; progress: Progress }
  /** The handler yields; its end is the end of that. */
  | { is: 'yields' }
  /** `value` is JSON. The next one comes after `more`. */
  | { is: 'chunk'; value: string }
  /** `args` is JSON. */
  | { is: 'call'; call: number; task: string; args: string | undefined; options: Omit<NestedOptions, 'signal'> }
  | { is: 'cancel'; call: number }

/** How a run ended. `result` is JSON; undefined is undefined. What is not JSON is a problem. */
export type ThreadOutcome =
  | { is: 'result'; result: string | undefined }
  | { is: 'problem'; problem: Problem }
  | { is: 'error'; error: CarriedError }

/** Milliseconds that never jump and are the same in all threads; those of performance.now() begin with each thread. */
export const sharedMs = (): number => Number(process.hrtime.bigint()) / 1e6
