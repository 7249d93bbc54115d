import { ConfigError, HubError, messageOf, type Problem } from '../wire/errors.ts'
import { UsageError } from './arguments.ts'
import { exitCodeOf } from './exit-codes.ts'
import type { Output, Sink } from './output.ts'
import { printable, printableJson } from './printable.ts'
import { RedisAway } from './redis-away.ts'

/** Tells an error on stderr, as sentences or as one line of JSON, and returns the exit code it gives. */
export const report = (error: unknown, { err }: Output, options: { json: boolean; debug: boolean }): number => {
  if (options.json) err.line(printableJson(asJson(error)))
  else if (error instanceof HubError && !(error instanceof RedisAway)) tellHubError(error, err)
  else {
    err.line(printable(messageOf(error)))
    if (error instanceof UsageError) err.line(`See: pshub help${error.command ? ` ${error.command}` : ''}`)
  }
  if (options.debug) tellStacks(error, err)
  return exitCodeOf(error)
}

const tellStacks = (error: unknown, err: Sink): void => {
  for (let at = error; at instanceof Error; at = at.cause) {
    for (const line of (at.stack ?? '').split('\n')) err.line(err.paint('dim', printable(line)))
  }
}

const asJson = (error: unknown): Record<string, unknown> => {
  if (error instanceof HubError) return { ...error.toJSON() }
  const code = error instanceof ConfigError ? error.code : 'Failed'
  return { code, message: messageOf(error), retryable: false }
}

const afterwards = { no: 'It did not run.', maybe: 'It may have run.', yes: undefined }

/** Where to look for more, by code. */
const further: Record<string, string> = {
  TaskFailed: 'The log of its worker has the stack.',
  Timeout: "To see what it waited for: 'pshub slow' and 'pshub queues'. To wait longer: --timeout.",
}

const tellHubError = (error: HubError, err: Sink): void => {
  const problems = problemsOf(error)
  const message = problems ? `${subjectOf(error)} not match the schema:` : error.message
  err.line(`${err.paint(['bold', 'red'], error.code)}: ${printable(message)}`)
  if (problems) tellProblems(problems, err)
  else if (error.data !== undefined) err.line(`  data: ${printableJson(error.data)}`)
  // What is no request of a task was not run in any case.
  const ran = error.task === undefined ? undefined : afterwards[error.ran]
  for (const line of [ran, further[error.code]]) if (line) err.line(err.paint('dim', line))
}

const subjectOf = ({ code, task }: HubError): string =>
  code === 'InvalidArgs' ? `The arguments of ${task ?? 'the task'} do` : `The result of ${task ?? 'the task'} does`

/** The fields that do not fit, when the error has them in the form it should; another library's reply may not. */
const problemsOf = ({ code, data }: HubError): Problem[] | undefined => {
  if (code !== 'InvalidArgs' && code !== 'InvalidResult') return undefined
  const problems = (data as { problems?: unknown } | undefined)?.problems
  if (!Array.isArray(problems) || problems.length === 0) return undefined
  const isProblem = (problem: Partial<Problem> | null) =>
    typeof problem?.pointer === 'string' && typeof problem.message === 'string'
  return problems.every(isProblem) ? problems : undefined
}

const tellProblems = (problems: Problem[], err: Sink): void => {
  const places = problems.map(({ pointer }) => (pointer === '' ? '(all of it)' : printable(pointer)))
  const width = Math.max(...places.map(place => place.length))
  problems.forEach(({ message }, at) => {
    err.line(`  ${err.paint('cyan', places[at]!.padEnd(width))}  ${printable(message)}`)
  })
}
