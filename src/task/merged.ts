import { ConfigError } from '../wire/errors.ts'
import { isYielding } from '../wire/returned.ts'
import { afterwards, isStandard } from './standard.ts'

/** Options of a task that merges its jobs. */
export interface MergedOptions<Payload = unknown> {
  /** Maximum number of keys per run, 1 to 100. Default 1. */
  batch?: number
  /** Maximum number of payloads per key and run, 1 to 10,000; the rest comes in the next run. Default 1000. */
  maxPayloads?: number
  /** Which score counts if an equal payload is already waiting: the last one (default) or the first. */
  scores?: 'first' | 'last'
  /** Converts a payload to the JSON that is sent; `args` describes that JSON. Default: the payload itself. */
  serialize?: (payload: Payload) => unknown
  /** Converts that JSON back to a payload for the handler. */
  deserialize?: (json: unknown) => Payload
}

/** The payloads of each key of a run, lower scores first; keys in the order in which they were due. */
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
