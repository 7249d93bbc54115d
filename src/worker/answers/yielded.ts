import type { TaskContext } from '../../task/task.ts'
import { HubError, TaskError } from '../../wire/errors.ts'
import { Abandoned } from '../../wire/failures.ts'
import { isThenable, isYielding, type Yielding } from '../../wire/returned.ts'

/** Where what a run yields goes. */
export interface Chunks {
  /** Takes one. A promise resolves when a next one may come, or when its run is to stop. */
  put(value: unknown): void | Promise<void>
  /** All that were put are where they belong; the handler `returned` this. Resolves to the result of the run. */
  end(returned: unknown): Promise<unknown>
  /** The same of a handler that failed. */
  fail(): Promise<void>
  /** Of a stream: how many there were. */
  readonly count: number | undefined
}

/** A context that takes what its handler yields. Middlewares hand it on as a part of the context that they were given. */
export const drains: unique symbol = Symbol('drains')
export interface Draining {
  [drains](source: Yielding, signal: AbortSignal): Promise<unknown>
}

/** What a handler returned: of one that yields, the promise of its end. */
export const drained = (value: unknown, context: TaskContext): unknown => {
  if (!isYielding(value)) return value
  const { [drains]: drain } = context as Partial<Draining>
  if (drain) return drain.call(context, value, context.signal)
  throw new TaskError('A middleware replaced the context of its handler, so nobody receives what the handler yields.')
}

/** Of a handler that resolved with a generator. */
export const unread = ({ task, id }: { task: string; id: string }): Abandoned =>
  new Abandoned(
    'InvalidResult',
    `The handler of ${task} resolved with a generator, which nobody reads: make the handler itself an async function*, or return it from one that is not async.`,
    { task, id },
  )

/** Reads what a handler yields to its end, or until the signal fires. */
export const readAll = async (source: Yielding, signal: AbortSignal, chunks: Chunks): Promise<unknown> => {
  const iterator: AsyncIterator<unknown> | Iterator<unknown> =
    Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source
  let returned: unknown
  try {
    for (;;) {
      const next = iterator.next()
      const step = isThenable(next) ? await next : next
      if (signal.aborted) throw stopped(signal.reason)
      if (step.done) {
        returned = step.value
        break
      }
      const room = chunks.put(step.value)
      if (room) await room
      if (signal.aborted) throw stopped(signal.reason)
    }
  } catch (error) {
    // Its `finally` is run; what it does there concerns nobody any more.
    Promise.resolve(iterator.return?.(undefined)).catch(() => undefined)
    await chunks.fail()
    throw error
  }
  return chunks.end(returned)
}

/** It was stopped here, and not by its handler. */
const stopped = (reason: unknown): unknown =>
  reason instanceof HubError ? new Abandoned(reason.kind, reason.message) : reason
