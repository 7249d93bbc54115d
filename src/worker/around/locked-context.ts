import { AsyncResource } from 'node:async_hooks'
import {
  type Called,
  calledName,
  type Declaration,
  type Given,
  type NestedOptions,
  type TaskContext,
  type TaskLog,
} from '../../task/task.ts'
import { following } from '../../wire/clock.ts'
import type { Yielding } from '../../wire/returned.ts'
import type { Progress } from '../../wire/stream.ts'
import { type Draining, drains } from '../answers/yielded.ts'
import type { Lock } from './lock.ts'

/** What a handler sees that runs under a lock: its signal fires when that is lost, too. */
export class LockedContext implements TaskContext, Draining {
  readonly #inner: TaskContext
  readonly #lock: Lock
  readonly #controller = new AbortController()
  /** In its handler's context, also where the lock is lost. */
  readonly #onAbort = AsyncResource.bind((event: Event) => this.#controller.abort((event.target as AbortSignal).reason))

  constructor(inner: TaskContext, lock: Lock) {
    this.#inner = inner
    this.#lock = lock
    for (const signal of [inner.signal, lock.lost]) {
      if (signal.aborted) this.#controller.abort(signal.reason)
      signal.addEventListener('abort', this.#onAbort, { once: true })
    }
    inner.signal.addEventListener('abort', () => lock.renewNoMore(), { once: true })
  }

  get id(): string {
    return this.#inner.id
  }
  get task(): string {
    return this.#inner.task
  }
  get from(): string | undefined {
    return this.#inner.from
  }
  get attempt(): number {
    return this.#inner.attempt
  }
  get isJob(): boolean {
    return this.#inner.isJob
  }
  get us(): TaskContext['us'] {
    return this.#inner.us
  }
  get log(): TaskLog {
    return this.#inner.log
  }
  get fence(): number | undefined {
    return this.#lock.fence
  }
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  progress(progress: Progress): void {
    this.#inner.progress(progress)
  }

  [drains](source: Yielding, signal: AbortSignal): Promise<unknown> {
    return (this.#inner as TaskContext & Draining)[drains](source, signal)
  }

  remainingMs(): number {
    return this.#inner.remainingMs()
  }

  call<A = unknown, R = unknown>(task: string | Declaration<A, R>, ...given: Given<A, NestedOptions>): Promise<R>
  call(task: Called, args?: unknown, options: NestedOptions = {}): Promise<unknown> {
    const { controller, release } = following(options.signal, this.signal)
    return this.#inner.call(calledName(task), args, { ...options, signal: controller.signal }).finally(release)
  }

  /** The handler is done. */
  end(): void {
    for (const signal of [this.#inner.signal, this.#lock.lost]) signal.removeEventListener('abort', this.#onAbort)
  }
}
