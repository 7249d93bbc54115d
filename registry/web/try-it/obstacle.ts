import { refusal } from '../session/access.ts'
import type { useArguments } from './arguments/state.ts'
import type { timeoutOf } from './run/timeout-field.tsx'

/** Why what is in the form cannot be sent at all. */
export const obstacleTo = (
  { value, textProblem }: ReturnType<typeof useArguments>,
  timeout: ReturnType<typeof timeoutOf>,
  pausedQueue?: string,
): string | undefined => {
  const refused = refusal('run')
  if (refused !== undefined) return refused
  if (pausedQueue !== undefined)
    return `Queue ${pausedQueue} is paused: no worker would claim the call. Resume it first, or enqueue a job.`
  if (textProblem) return `The arguments cannot be sent: line ${textProblem.line}, column ${textProblem.column}.`
  if (value === undefined) return 'There are no arguments yet.'
  return 'wrong' in timeout ? `The timeout is invalid. ${timeout.wrong}` : undefined
}
