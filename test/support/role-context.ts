import type { WorkerContext } from '../../src/context.ts'

/** What a role is given in a test: only what it uses there. */
export const contextOf = (part: Partial<WorkerContext>): WorkerContext => part as WorkerContext
