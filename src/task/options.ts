import { maxTimeoutMs } from '../wire/clock.ts'
import { ConfigError } from '../wire/errors.ts'
import { type Backoff, backoffKinds, isBackoff, isKeyed, isWait, type Keyed } from '../wire/job-part.ts'
import { refuseOptions } from '../wire/options.ts'
import { isDanger, maxDanger } from './danger.ts'
import { checkMergedOptions, type MergedOptions } from './merged.ts'
import type { JsonSchema } from './schema.ts'
import { isStandard } from './standard.ts'

/** How a task is declared. Everything except the handler is published to the registry. */
export interface TaskOptions<
  A = JsonSchema,
  R = JsonSchema,
  K = Keyed | undefined,
  Payload = never,
  Y = JsonSchema | true,
> extends MergedOptions<Payload> {
  /** What the task does, in Markdown; lists show the first line. */
  description?: string
  /**
   * JSON Schema (2020-12) of the arguments, written in place, made by TypeBox, or a schema with Standard Schema support
   * (zod, arktype, valibot): its JSON Schema is published, and the handler receives the output of its validator.
   * Without a schema any arguments are accepted.
   */
  args?: A
  /** Schema of the result: the output of its validator is sent to the caller. Without a schema any JSON is accepted. */
  result?: R
  /**
   * Schema of each chunk that the handler yields: a chunk that does not match ends the handler with InvalidResult.
   * Callers and `pshub types` use it. True: it yields chunks of any kind. Default: true for a `function*` or `async
   * function*`.
   */
  yields?: Y
  /** Timeout of calls that set none. Default 5000. */
  timeoutMs?: number
  /** True if running it twice is safe: then another worker runs a call again if its worker crashes. Default false. */
  idempotent?: boolean
  /**
   * The task needs a confirmation: true, or the reason in a sentence (at most 500 characters). `pshub call` and the
   * form of the registry ask before they run it; programs are not asked. Default false.
   */
  dangerous?: boolean | string
  /** How long it may run as a job. Default 30 minutes. */
  jobTimeoutMs?: number
  /** How often a job is retried when it fails, unless the job sets it. Default 25. */
  retries?: number
  /**
   * Wait before a retry. A function returns milliseconds, or undefined for a job that shall be dead. Default
   * `exponential`, for merged jobs `polynomial`.
   */
  backoff?: TaskBackoff
  /**
   * Jobs of this task have keys. `ordered`: jobs with the same key run one at a time, in order, across all workers of
   * all languages. `merged`: waiting jobs with the same key are passed to the handler together, each payload once, and
   * a key has at most one run at a time. Default: no keys.
   */
  keyed?: K
  /** While a failed keyed job waits for its retry: `hold` (default) makes the next jobs of its key wait; `pass` runs them first. */
  onFailure?: 'hold' | 'pass'
  /** For a handler that computes: run it in this many threads of its own. Default: in the main thread. */
  threads?: number
  /** The module that exports the task, for its threads: `import.meta.url`. `pshub worker` sets it. */
  module?: string
}

/** `attempt`: how often it has failed so far. */
export type TaskBackoff = Backoff | ((error: unknown, attempt: number) => number | undefined)

const optionTypes: Record<keyof TaskOptions, string> = {
  description: 'string',
  args: '',
  result: '',
  yields: '',
  timeoutMs: 'number',
  idempotent: 'boolean',
  dangerous: '',
  jobTimeoutMs: 'number',
  retries: 'number',
  backoff: '',
  keyed: 'string',
  onFailure: 'string',
  batch: 'number',
  maxPayloads: 'number',
  scores: 'string',
  serialize: 'function',
  deserialize: 'function',
  threads: 'number',
  module: 'string',
}

const optionNames = new Set(Object.keys(optionTypes))

/** @throws ConfigError for an option that there is not, or that cannot work */
export const checkOptions = (fullName: string, options: object, known: ReadonlySet<string> = optionNames): void => {
  refuseOptions(fullName, options, known)
  for (const [key, value] of Object.entries(options)) {
    const type = optionTypes[key as keyof TaskOptions]
    const actual = Array.isArray(value) ? 'array' : typeof value
    if (value !== undefined && type !== '' && actual !== type)
      throw new ConfigError(`${fullName}: '${key}' must be a ${type}, not ${actual}.`)
  }
  const {
    args,
    result,
    yields,
    timeoutMs,
    dangerous,
    jobTimeoutMs,
    retries,
    backoff,
    keyed,
    onFailure,
    threads,
    module,
  } = options as TaskOptions
  for (const [key, schema] of Object.entries({ args, result, yields: yields === true ? undefined : yields }))
    if (schema !== undefined && !isStandard(schema) && (typeof schema !== 'object' || Array.isArray(schema)))
      throw new ConfigError(
        `${fullName}: '${key}' must be an object, not ${Array.isArray(schema) ? 'array' : typeof schema}: a JSON Schema, or one that speaks Standard Schema.`,
      )
  for (const [key, ms] of Object.entries({ timeoutMs, jobTimeoutMs }))
    if (ms !== undefined && !(ms > 0 && ms <= maxTimeoutMs))
      throw new ConfigError(`${fullName}: '${key}' must be above 0 and at most ${maxTimeoutMs} (a day).`)
  if (retries !== undefined && !isWait(retries))
    throw new ConfigError(`${fullName}: 'retries' must be a whole number of at least 0.`)
  if (backoff !== undefined && typeof backoff !== 'function' && !isBackoff(backoff))
    throw new ConfigError(`${fullName}: 'backoff' must be ${backoffKinds}, or a function.`)
  if (keyed !== undefined && !isKeyed(keyed))
    throw new ConfigError(`${fullName}: 'keyed' must be 'ordered' or 'merged', or be left out.`)
  if (onFailure !== undefined && onFailure !== 'hold' && onFailure !== 'pass')
    throw new ConfigError(`${fullName}: 'onFailure' must be 'hold' or 'pass'.`)
  if (onFailure !== undefined && keyed === undefined)
    throw new ConfigError(`${fullName}: 'onFailure' is about jobs with a key; give keyed: 'ordered' too.`)
  if (dangerous !== undefined && !isDanger(dangerous))
    throw new ConfigError(`${fullName}: 'dangerous' must be true or false, or say why in 1 to ${maxDanger} characters.`)
  checkMergedOptions(fullName, options as MergedOptions)
  if (threads !== undefined && !(Number.isSafeInteger(threads) && threads >= 1))
    throw new ConfigError(`${fullName}: 'threads' must be a whole number of at least 1.`)
  if (module !== undefined && !module.startsWith('file:'))
    throw new ConfigError(
      `${fullName}: 'module' must be the URL of a file: import.meta.url of the module that exports it.`,
    )
}

/** Beside what else is on its card, which nobody reads when it is longer than maxCardLength. */
const maxDeclaration = 250_000

/** @throws ConfigError where nobody could read its card */
export const checkLength = (
  fullName: string,
  { description, args, result, yields }: TaskOptions<unknown, unknown, undefined, never, unknown>,
): void => {
  const { length } = JSON.stringify([description, args, result, yields])
  if (length > maxDeclaration)
    throw new ConfigError(
      `${fullName}: its description and schemas are ${length} characters of JSON; at most ${maxDeclaration} fit on a card of the registry.`,
    )
}

/** What to do about contracts that were given to be served. */
export const withoutHandler = (names: readonly string[]): string =>
  `${names.join(', ')}: a contract without a handler cannot be served. Add one, and pass its return value to the worker: ` +
  'contract.handler(async (args, ctx) => ...).'
