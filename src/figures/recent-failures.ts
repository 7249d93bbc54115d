import { codeOf } from '../wire/errors.ts'
import { isMicros } from '../wire/foreign.ts'
import { type KeptCall, KeptCalls, parseKept } from './kept-calls.ts'

/** A call or job of a task that did not end well on its worker. One that its handler rejected is none. */
export interface Failure extends KeptCall {
  code: string
  /** What its caller was told, cut to 300 characters. */
  message: string
  /** How long its handler ran, microseconds; 0 for one that was not started. */
  execUs: number
}

/** What one worker publishes of them: by name:version, newest first. */
export type FailuresJson = Record<string, Failure[]>

export const failureMemoryMs = 3600_000
export const maxFailureMessage = 300
export const maxFailuresLength = 131_072

/** The last failures of each task of one worker. Calls that end well do not come here. */
export class RecentFailures extends KeptCalls<Failure> {
  constructor() {
    super(failureMemoryMs, maxFailuresLength)
  }

  override keep(task: string, failure: Failure, now: number): void {
    super.keep(task, { ...failure, message: failure.message.slice(0, maxFailureMessage) }, now)
  }
}

export const parseFailures = (value: unknown, own: Record<string, unknown>): FailuresJson =>
  parseKept<Failure>(value, own, ({ code, message, execUs }, common) => {
    if (typeof message !== 'string') return undefined
    return {
      ...common,
      code: codeOf(code),
      message: message.slice(0, maxFailureMessage),
      execUs: isMicros(execUs) ? execUs : 0,
    }
  })
