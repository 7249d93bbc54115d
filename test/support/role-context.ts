import type { WorkerContext } from '../../src/worker/context.ts'

type Part<T> = T extends (...args: never[]) => unknown ? T : Partial<T>

/** What a role is given in a test: only what it uses there. */
export const contextOf = (part: { [K in keyof WorkerContext]?: Part<WorkerContext[K]> }): WorkerContext =>
  ({ streams: { close() {} }, progress: { end() {} }, ...part }) as WorkerContext
