import { ConfigError } from '../wire/errors.ts'
import { isYielding } from '../wire/returned.ts'
import { afterwards, isStandard } from './standard.ts'

/** What is said of a task that merges its jobs, beside what is said of any. */
export interface MergedOptions<Payload = unknown> {
  /** How many keys one run gets at the most, 1 to 100. Default 1. */
  batch?: number
  /** How many payloads of each of these at the most, 1 to 10,000; the others come in the next run. Default 1000. */
  maxPayloads?: number
  /** Which score counts where a payload is enqueued that waits already: the last one it was given (default), or the first. */
  scores?: 'first' | 'last'
  /** What travels of a payload, as JSON; `args` describes that. Default: the payload. */
  serialize?: (payload: Payload) => unknown
  /** The payload again, for the handler. */
  deserialize?: (json: unknown) => Payload
}

/** The payloads of each key of a run, those with lower scores first; of the keys first those that were due first. */
export type ByKey<Payload> = Map<string, Payload[]>

export const defaultBatch = 1
export const defaultMaxPayloads = 1000
const mostKeys = 100
const mostPayloads = 10_000

/** What is given to the handler of such a task: keys and their payloads, as they travelled. */
export type RunArgs = [key: string, payloads: unknown[]][]

/** A handler as any other: of what a run brought, as it travelled. */
export const mergedHandler =
  <Context>(
    handler: (byKey: ByKey<unknown>, context: Context) => unknown,
    deserialize: (json: unknown) => unknown = json => json,
  ) =>
  (args: unknown, context: Context): unknown => {
    const run = args as RunArgs
    const byKey = new Map(run.map(([key, payloads]) => [key, payloads.map(each => deserialize(each))]))
    return afterwards(handler(byKey, context), leftOf)
  }

/** Nobody is told what it returns, so that may be anything; but what a generator does is done when somebody asks it. */
const leftOf = (returned: unknown): unknown => (isYielding(returned) ? returned : null)

export const unreadYields = (fullName: string): ConfigError =>
  new ConfigError(`${fullName}: nobody reads what a run of merged jobs yields; let its handler yield nothing.`)

const isCountTo = (value: unknown, most: number): boolean =>
  Number.isInteger(value) && (value as number) >= 1 && (value as number) <= most

const ofMerged = ['batch', 'maxPayloads', 'scores', 'serialize', 'deserialize'] as const

/** @throws ConfigError for an option that cannot work */
export const checkMergedOptions = (
  fullName: string,
  options: MergedOptions & { args?: unknown; keyed?: unknown; result?: unknown; yields?: unknown; onFailure?: unknown },
): void => {
  const wrong = (what: string) => new ConfigError(`${fullName}: ${what}`)
  if (options.keyed !== 'merged') {
    for (const name of ofMerged)
      if (options[name] !== undefined)
        throw wrong(`'${name}' is for tasks that merge their jobs; give keyed: 'merged' too.`)
    return
  }
  const { args, batch, maxPayloads, scores, result, yields, onFailure } = options
  if (isStandard(args) && (options.serialize ?? options.deserialize) !== undefined)
    throw wrong("'serialize' and 'deserialize' do what the validator of its 'args' does; give one or the other.")
  if (batch !== undefined && !isCountTo(batch, mostKeys))
    throw wrong(`'batch' must be a whole number from 1 to ${mostKeys}.`)
  if (maxPayloads !== undefined && !isCountTo(maxPayloads, mostPayloads))
    throw wrong(`'maxPayloads' must be a whole number from 1 to ${mostPayloads}.`)
  if (scores !== undefined && scores !== 'first' && scores !== 'last')
    throw wrong("'scores' must be 'first' or 'last'.")
  if (result !== undefined) throw wrong("'result' has no effect: nobody receives what a run of merged jobs returns.")
  if (yields !== undefined) throw unreadYields(fullName)
  if (onFailure !== undefined)
    throw wrong("'onFailure' is for keyed: 'ordered': a key that failed keeps its payloads together.")
}
