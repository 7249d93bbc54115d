import { ConfigError, HubError } from '../wire/errors.ts'

/** What scripts can decide by. The three kinds of failed calls follow `ran` of the error table. */
export const exitCodes = { ok: 0, failed: 1, usage: 2, notRun: 3, maybeRun: 4 } as const

/** Exit codes of a process that a signal ended: 128 and the signal's number. */
export const signalCodes = { SIGINT: 130, SIGTERM: 143 } as const

export type StopSignal = keyof typeof signalCodes

const codeOfRan = { no: exitCodes.notRun, maybe: exitCodes.maybeRun, yes: exitCodes.failed } as const

export const exitCodeOf = (error: unknown): number => {
  if (error instanceof HubError) return codeOfRan[error.ran]
  return error instanceof ConfigError ? exitCodes.usage : exitCodes.failed
}
