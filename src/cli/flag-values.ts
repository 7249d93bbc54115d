import { text } from 'node:stream/consumers'
import { parseExact } from '../wire/json/exact-json.ts'
import { isQueueName } from '../wire/keys.ts'
import { UsageError } from './arguments.ts'
import type { Invocation } from './command.ts'
import { parseDuration } from './duration.ts'

/** Arguments of a task as a command line gives them: JSON, `-` for stdin, or nothing for {}. */
export const argumentsOf = async (
  given: string | undefined,
  invocation: Pick<Invocation, 'host' | 'output'>,
  command: string,
): Promise<unknown> => {
  if (given === undefined) return {}
  if (given !== '-')
    return parseJson(given, 'The second argument is not JSON (quote it for the shell, as in \'{"a":1}\')', command)
  return parseJson(await stdin('the arguments as JSON', invocation), 'What came from stdin is not JSON', command)
}

/** @param what a person at a terminal is asked for */
export const stdin = async (what: string, { host, output }: Pick<Invocation, 'host' | 'output'>): Promise<string> => {
  if (host.stdin.isTTY) output.err.line(`Reading ${what} from here; end them with Ctrl-D.`)
  return withoutMark(await text(host.stdin))
}

/** Some editors begin a file with a byte order mark, which JSON does not allow. */
export const withoutMark = (file: string): string => file.replace(/^\ufeff/, '')

/** @throws UsageError */
export const parseJson = (json: string, otherwise: string, command: string): unknown => {
  try {
    return parseExact(json)
  } catch (error) {
    throw new UsageError(`${otherwise}: ${(error as Error).message}`, command)
  }
}

type Flags = Invocation['flags']

/** @throws UsageError */
export const queueOf = ({ queue }: Flags, command: string): string | undefined => {
  if (queue === undefined || isQueueName(queue)) return queue
  throw new UsageError(`--queue must be the name of a queue; it is '${queue}'.`, command)
}

/** @throws UsageError */
export const timeoutOf = ({ timeout }: Flags, command: string): number | undefined => {
  const timeoutMs = timeout === undefined ? undefined : parseDuration(timeout, '--timeout')
  if (timeoutMs === undefined || timeoutMs > 0) return timeoutMs
  throw new UsageError('--timeout must be longer than 0.', command)
}
