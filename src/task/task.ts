import { createHash } from 'node:crypto'
import { ConfigError } from '../wire/errors.ts'
import type { Keyed } from '../wire/job-part.ts'
import { parseTaskName } from '../wire/names.ts'
import { namesOf } from '../wire/options.ts'
import { canonicalText } from '../wire/payload.ts'
import { isGenerator } from '../wire/returned.ts'
import type { Declaration, TaskContext } from './declaration.ts'
import type { Guards } from './guards.ts'
import type {
  ChunkFrom,
  ChunkOfSchema,
  InputOf,
  OutputOf,
  ResultByYields,
  ResultFrom,
  ToldOf,
  Yielding,
} from './infer.ts'
import { type ByKey, defaultBatch, defaultMaxPayloads, mergedHandler, unreadYields } from './merged.ts'
import { checkLength, checkOptions, type TaskOptions } from './options.ts'
import { compileOwn, type JsonSchema, type Validate } from './schema.ts'
import {
  afterwards,
  isStandard,
  jsonSchemaOf,
  type Parse,
  parserOf,
  problemsBy,
  type StandardSchema,
} from './standard.ts'

export {
  type AnyTasks,
  type ArgsOf,
  type ArgsUnder,
  type Called,
  type ChunkOf,
  type ChunkUnder,
  calledName,
  type Declaration,
  type Entry,
  type Given,
  type NameOf,
  type NestedOptions,
  type NoName,
  nestedOptionNames,
  type ResultOf,
  type ResultUnder,
  type TaskContext,
  type TaskLog,
} from './declaration.ts'
export type { Guards } from './guards.ts'
export { type TaskBackoff, type TaskOptions, withoutHandler } from './options.ts'

/** The handler of merged jobs: it receives the payloads of each key. */
export type MergedHandler<Payload> = (byKey: ByKey<Payload>, context: TaskContext) => unknown
/**
 * The handler of a task: it receives the checked arguments and the context of the run. Its return value, or what it
 * resolves with, is the result.
 */
export type Handler<Args = unknown, Result = unknown, Chunk = unknown> = (
  args: Args,
  context: TaskContext,
) => Result | Promise<Result> | ResultByYields<Result, Chunk>

/** A request that a worker is about to run, as middleware sees it. */
export interface TaskRequest {
  /** `name:version` */
  task: string
  /** Already checked by the schema; changes are not checked again. */
  args: unknown
}
/** Runs a request: the handler, or a middleware around it. */
export type TaskRun = (request: TaskRequest, context: TaskContext) => unknown
/** Wraps the handler: it can inspect or change the request and the result, return a result itself, or throw. */
export type TaskMiddleware = (next: TaskRun, guards: Guards) => TaskRun

/** A task with its handler: pass it to a Worker, or to `hub.call` for typed arguments and result. */
export interface Task<Args = unknown, Result = unknown, Chunk = unknown> extends Declaration<Args, Result, Chunk> {
  readonly kind: 'task'
  readonly handler: Handler<Args, Result>
}

/** A task without its handler, for a file that callers and workers share. */
export interface Contract<Args = unknown, Result = unknown, Parsed = Args, Made = Result, Chunk = unknown>
  extends Declaration<Args, Result, Chunk> {
  readonly kind: 'contract'
  /**
   * Returns the task that a worker serves. The contract does not change.
   *
   * @param handler receives the arguments as parsed by the validator of a schema library; its result is checked against
   *   the result schema of the contract, if it has one
   * @param serving options of the worker side: `threads`, and `module`, the module that exports the returned task
   * @throws ConfigError
   */
  handler<Returned>(
    handler: (
      args: Parsed,
      context: TaskContext,
    ) => unknown extends Result
      ? unknown extends Chunk
        ? Returned
        : Returned & Yielding<Chunk>
      : Made | Promise<Made> | ResultByYields<Made, Chunk>,
    serving?: Serving,
  ): Task<
    Args,
    unknown extends Result ? ResultFrom<Returned> : Result,
    unknown extends Chunk ? (unknown extends Result ? ChunkFrom<Returned> : unknown) : Chunk
  >
}

/** A contract of a task that merges its jobs. */
export interface MergedContract<Payload = unknown, Parsed = Payload> extends Declaration<Payload, unknown> {
  readonly kind: 'contract'
  /** As Contract.handler(). */
  handler(handler: MergedHandler<Parsed>, serving?: Serving): Task<Payload>
}

/** Options of the worker side of a task. */
export type Serving = Pick<TaskOptions, 'threads' | 'module'>
const servingNames = namesOf<Serving>({ threads: true, module: true })

/** What the handler of merged jobs gets of a payload: what the validator of a library's schema makes of it, or what `deserialize` does. */
type ParsedPayload<A, Payload> = A extends StandardSchema<unknown, infer Output> ? Output : Payload
/** What is enqueued of it. */
type GivenPayload<A, Payload> = A extends StandardSchema<infer Input, unknown> ? Input : Payload

/** Marks what defineTask made, also across two copies of the package. */
const taskMark: unique symbol = Symbol.for('pshub.task')

export const defaultTimeoutMs = 5000
export const defaultJobTimeoutMs = 30 * 60 * 1000

/**
 * Declares a task. The types of its arguments and result follow from their schemas, if these are written in place (or
 * `as const`); without a result schema, from the return type of the handler. Without a handler it returns a contract;
 * its method `handler` makes the task. A generator (`async function*`) sends what it yields to callers of
 * `hub.stream()`. Other callers receive its return value, or the list of its chunks if it returns nothing or null. With
 * `keyed: 'merged'` the handler receives a Map of keys and their payloads.
 *
 * @param fullName `name:major.minor`
 * @throws ConfigError for a malformed name, an invalid schema or an unknown option
 */
export function defineTask<
  const A = undefined,
  const R = undefined,
  const K extends Keyed | undefined = undefined,
  Payload = InputOf<A>,
  const Y = undefined,
>(
  fullName: string,
  options: TaskOptions<A, R, K, Payload, Y>,
): K extends 'merged'
  ? MergedContract<GivenPayload<A, Payload>, ParsedPayload<A, Payload>>
  : Contract<InputOf<A>, ToldOf<R>, OutputOf<A>, InputOf<R>, Y extends undefined | true ? unknown : ToldOf<Y>>
// What the handler may return is said in a list of parameters, so that its literals keep their types (`state: 'ok'`).
export function defineTask<
  const A = undefined,
  const R = undefined,
  const K extends Keyed | undefined = undefined,
  Payload = InputOf<A>,
  Returned = unknown,
  const Y = undefined,
>(
  fullName: string,
  options: TaskOptions<A, R, K, Payload, Y>,
  ...given: K extends 'merged'
    ? [handler: MergedHandler<ParsedPayload<A, Payload>>]
    : R extends undefined
      ? [
          handler: (
            args: OutputOf<A>,
            context: TaskContext,
          ) => Y extends undefined | true ? Returned : Returned & Yielding<InputOf<Y>>,
        ]
      : [handler: Handler<OutputOf<A>, InputOf<R>, Y extends undefined | true ? unknown : InputOf<Y>>]
): K extends 'merged'
  ? Task<GivenPayload<A, Payload>>
  : Task<
      InputOf<A>,
      R extends undefined ? ResultFrom<Returned> : ToldOf<R>,
      R extends undefined ? ChunkOfSchema<Y, Returned> : Y extends undefined | true ? unknown : ToldOf<Y>
    >
export function defineTask(fullName: string, options: object, ...given: unknown[]): never {
  const contract = contractOf(fullName, options as TaskOptions)
  return (given.length === 0 ? contract : taskOf(contract, given[0], {}, options as TaskOptions)) as never
}

const contractOf = (fullName: string, options: TaskOptions): Contract => {
  const name = parseTaskName(fullName)
  checkOptions(fullName, options)
  const args = jsonSchemaOf(options.args, 'input', `${fullName}: 'args'`)
  const result = jsonSchemaOf(options.result, 'output', `${fullName}: 'result'`)
  const chunk = options.yields === true ? undefined : jsonSchemaOf(options.yields, 'output', `${fullName}: 'yields'`)
  const contract: Contract & { [taskMark]: true } = {
    [taskMark]: true,
    kind: 'contract',
    name,
    description: options.description ?? '',
    args,
    result,
    yields: chunk ?? (options.yields === true ? true : undefined),
    timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
    idempotent: options.idempotent ?? false,
    dangerous: options.dangerous || undefined,
    jobTimeoutMs: options.jobTimeoutMs ?? defaultJobTimeoutMs,
    retries: options.retries,
    backoff: options.backoff,
    keyed: options.keyed,
    onFailure: options.onFailure ?? 'hold',
    batch: options.batch ?? defaultBatch,
    maxPayloads: options.maxPayloads ?? defaultMaxPayloads,
    scores: options.scores ?? 'last',
    serialize: options.serialize,
    threads: options.threads,
    module: options.module,
    handler: (handler, serving = {}) => taskOf(contract, handler, serving, options) as never,
    checkArgs: args === undefined ? undefined : checkOfArgs(fullName, args, options),
    checkResult: result === undefined ? undefined : compileOwn(result, `${fullName}: 'result'`),
    checkChunk: chunk === undefined ? undefined : compileOwn(chunk, `${fullName}: 'yields'`),
    digest: createHash('sha256')
      .update(canonicalText(JSON.stringify(chunk === undefined ? [args, result] : [args, result, chunk])))
      .digest('hex')
      .slice(0, 12),
  }
  checkLength(fullName, { description: contract.description, args, result, yields: contract.yields })
  return Object.freeze(contract)
}

/** Payloads of merged jobs are checked one by one before a run, so that one which does not fit spoils none: also by the validator. */
const checkOfArgs = (fullName: string, args: JsonSchema, { keyed, args: given }: TaskOptions): Validate => {
  const check = compileOwn(args, `${fullName}: 'args'`)
  if (keyed !== 'merged' || !isStandard(given)) return check
  return (value, size) => {
    const problems = check(value, size)
    return problems.length > 0 ? problems : problemsBy(given, value)
  }
}

const taskOf = (contract: Contract, handler: unknown, serving: Serving, options: TaskOptions): Task => {
  const { full } = contract.name
  if (typeof handler !== 'function')
    throw new ConfigError(`${full}: its handler must be a function, not ${typeof handler}.`)
  checkOptions(full, serving, servingNames)
  if (contract.keyed === 'merged' && isGenerator(handler)) throw unreadYields(full)
  const { threads = contract.threads, module = contract.module } = serving
  const yields = contract.yields ?? (isGenerator(handler) || undefined)
  const parse = parserOf(options.args, 'InvalidArgs', full)
  const own =
    contract.keyed === 'merged'
      ? mergedHandler(handler as MergedHandler<unknown>, parse ?? options.deserialize)
      : parsing(handler as Handler, parse, parserOf(options.result, 'InvalidResult', full))
  return Object.freeze({ ...contract, yields, threads, module, kind: 'task', handler: own })
}

/** A handler between the validators of its schemas, where they have any: they run where it runs, in a thread too. */
const parsing = (handler: Handler, parseArgs: Parse | undefined, parseResult: Parse | undefined): Handler => {
  if (!parseArgs && !parseResult) return handler
  return (given, context) => {
    const value = afterwards(parseArgs ? parseArgs(given) : given, args => handler(args, context))
    return parseResult ? afterwards(value, parseResult) : value
  }
}

/** Whether the value is a task with a handler, made by defineTask. */
export const isTask = (value: unknown): value is Task => isMarked(value) && value.kind === 'task'

/** Whether the value is a contract, made by defineTask without a handler. */
export const isContract = (value: unknown): value is Contract => isMarked(value) && value.kind === 'contract'

const isMarked = (value: unknown): value is Task | Contract =>
  typeof value === 'object' && value !== null && (value as Record<symbol, unknown>)[taskMark] === true
