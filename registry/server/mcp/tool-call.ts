import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import { type CallOptions, ExactNumber, type Hub, HubError, type Problem, stringifyExact } from 'pshub'
import { answerTo, Refusal } from '../refusal.ts'
import { isObject } from './schema-parts.ts'
import type { ToolProgress } from './tool-progress.ts'
import { readWhole } from './tool-stream.ts'
import type { TaskTool } from './tools.ts'

/** A model reads all of a result: a longer one, in bytes of JSON, would drown what it is asked about. */
export const maxResultBytes = 256 * 1024
/** As long as the gateway waits at most. */
const maxTimeoutMs = 10 * 60_000

/** What the SDK tells of a request, as far as it matters here. */
export interface Asked {
  signal: AbortSignal
  /** Undefined where the client does not want to know. */
  progress?: ToolProgress | undefined
}

/** Calls the task of a tool. What the call rejects with is thrown. */
export const callTool = async (hub: Hub, known: TaskTool, given: unknown, asked: Asked): Promise<CallToolResult> => {
  const args = argsOf(known, given)
  const options = callOptionsOf(known, asked)
  const { progress } = asked
  try {
    if (!progress || !known.yields) return resultOf(known, (await hub.call(known.task, args, options)) ?? null)
    const stream = hub.stream(known.task, args, options)
    return resultOf(known, await readWhole(stream, maxResultBytes, progress, bytes => tooLarge(known.task, bytes)))
  } catch (thrown) {
    throw known.isWrapped ? inArgs(known.task, thrown) : thrown
  }
}

/** How a request of a client becomes a call. */
const callOptionsOf = ({ timeoutMs }: TaskTool, { signal, progress }: Asked): CallOptions => ({
  signal,
  onProgress: progress?.onProgress,
  timeoutMs: Math.min(timeoutMs, maxTimeoutMs),
})

/** @throws HubError where a model took the field `args` for the arguments: the task may take nothing, too, and would be run with that */
const argsOf = ({ task, isWrapped }: TaskTool, given: unknown = {}): unknown => {
  if (!isWrapped) return given
  if (isObject(given) && Object.hasOwn(given, 'args') && Object.keys(given).length === 1) return given.args
  const message = `The arguments of ${task} must be in the field args of the tool's arguments, and no other field is allowed.`
  const problems: Problem[] = [{ pointer: '/args', message: 'is required, and no other field is allowed' }]
  throw new HubError('InvalidArgs', message, { task, data: { problems } })
}

/** Where fields of the arguments are for whoever sent them in the field `args`. */
const inArgs = (task: string, thrown: unknown): unknown => {
  if (!(thrown instanceof HubError) || thrown.code !== 'InvalidArgs') return thrown
  const { message, ran, data } = thrown
  const problems = (data as { problems?: Problem[] } | undefined)?.problems
  if (!Array.isArray(problems)) return thrown
  const moved = problems.map(problem => ({ ...problem, pointer: `/args${problem.pointer}` }))
  const text = message.replace(shown(problems), () => shown(moved))
  return new HubError('InvalidArgs', text, { task, ran, data: { problems: moved } })
}

/** As they are in the error's message. */
const shown = (problems: Problem[]): string =>
  problems
    .slice(0, 5)
    .map(({ pointer, message }) => `${pointer || 'arguments'} ${message}`)
    .join('; ')

const resultOf = ({ task, tool }: TaskTool, result: unknown): CallToolResult => {
  const text = stringifyExact(result)
  const bytes = Buffer.byteLength(text)
  if (bytes > maxResultBytes) throw tooLarge(task, bytes)
  if (!isObject(result) || result instanceof ExactNumber) {
    // Clients refuse to read such a result.
    if (tool.outputSchema)
      throw new HubError('InvalidResult', `${task} ran, but its result is not an object.`, { task })
    return { content: [{ type: 'text', text }] }
  }
  return { content: [{ type: 'text', text }], structuredContent: result }
}

const tooLarge = (task: string, bytes: number): HubError =>
  new HubError(
    'InvalidResult',
    `${task} ran, but its result has ${bytes} bytes but the limit for agents is ${maxResultBytes}: request less.`,
    { task },
  )

/** What the model is told of a failure: the code, whether the task ran and may be tried again; never a stack. */
export const failureOf = (thrown: unknown): CallToolResult => {
  const { code, detail: message, ran, retryable, data } = answerTo(thrown).body
  const error = {
    code,
    message,
    ...(ran !== undefined && { ran, retryable }),
    ...(data !== undefined && { data }),
  }
  const whole = stringifyExact({ error })
  const { data: _, ...short } = error
  const text = Buffer.byteLength(whole) > maxResultBytes ? stringifyExact({ error: short }) : whole
  return { isError: true, content: [{ type: 'text', text }] }
}

/** What the log says of an end. */
export const codeOf = (thrown: unknown): string =>
  thrown instanceof HubError || thrown instanceof Refusal ? thrown.code : 'Internal'
