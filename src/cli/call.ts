import type { CallOptions, WithPhases } from '../hub/call-options.ts'
import type { Hub } from '../hub/hub.ts'
import type { HubError } from '../wire/errors.ts'
import type { CallPhases } from '../wire/phases.ts'
import type { Progress } from '../wire/stream.ts'
import { settingsOf } from './arguments.ts'
import { writeChunks } from './call-stream.ts'
import type { Command, Invocation } from './command.ts'
import { askIfDangerous } from './danger.ts'
import { exitCodes } from './exit-codes.ts'
import { argumentsOf, queueOf, timeoutOf } from './flag-values.ts'
import { withHub } from './hub-session.ts'
import { callerOptionsWith, jsonOption, nameOption } from './options.ts'
import type { Output } from './output.ts'
import { printableJson } from './printable.ts'
import { ToldProgress } from './progress.ts'

const run = async (invocation: Invocation): Promise<number> => {
  const { positionals, flags, output, host } = invocation
  const settings = settingsOf('hub', callCommand, invocation, 'silent')
  const queue = queueOf(flags, 'call')
  const timeoutMs = timeoutOf(flags, 'call')
  const args = await argumentsOf(positionals[1], invocation, 'call')
  return withHub(settings, invocation, {
    onFailure: error => {
      if (flags.phases !== undefined) tellPhases((error as HubError).phases, invocation)
    },
    work: async (hub, signal) => {
      await askIfDangerous(await hub.dangerOf(positionals[0]!, { queue }), invocation, signal)
      const told = output.err.isTerminal ? new ToldProgress(text => void host.stderr.write(text)) : undefined
      const onProgress = told && ((progress: Progress) => told.show(progress))
      const options = { signal, queue, onProgress, ...(timeoutMs === undefined ? {} : { timeoutMs }) }
      const called = { task: positionals[0]!, args, options }
      const ended = flags.stream === undefined ? call(hub, called) : stream(hub, called, output, told)
      const { result, phases } = await ended.finally(() => told?.end())
      if (flags.stream === undefined) writeResult(result, invocation)
      else tellReturned(result, invocation)
      if (flags.phases !== undefined) tellPhases(phases, invocation)
      return exitCodes.ok
    },
  })
}

interface Called {
  task: string
  args: unknown
  options: Omit<CallOptions, 'phases'> & { signal: AbortSignal }
}

const call = (hub: Hub, { task, args, options }: Called): Promise<WithPhases> =>
  hub.call(task, args, { ...options, phases: true })

/** The same with what it yields on stdout, as it comes. */
const stream = async (
  hub: Hub,
  { task, args, options }: Called,
  output: Output,
  told: ToldProgress | undefined,
): Promise<WithPhases> => {
  const chunks = hub.stream(task, args, options)
  const result = await writeChunks(chunks, output, told, options.signal)
  return { result, phases: chunks.phases }
}

/** On stderr, because stdout has the chunks alone. */
const tellReturned = (returned: unknown, { flags, output: { err } }: Invocation): void => {
  if (returned === null || returned === undefined) return
  if (flags.json !== undefined) err.line(printableJson({ result: returned }))
  else err.line(`${err.paint('dim', 'returned')} ${printableJson(returned)}`)
}

/** A result alone, on stdout. */
export const writeResult = (result: unknown, { flags, output: { out } }: Invocation): void => {
  const isPretty = out.isTerminal && flags.raw === undefined && flags.json === undefined
  out.line(printableJson(result, isPretty ? 2 : undefined))
}

/** On stderr, because stdout is the result's alone. */
const tellPhases = (phases: CallPhases | undefined, { flags, output: { err } }: Invocation): void => {
  if (flags.json !== undefined) err.line(printableJson({ phases: phases ?? null }))
  else if (phases)
    err.line(phaseNames.map(name => `${err.paint('dim', name)} ${(phases[name] / 1000).toFixed(1)}ms`).join('  '))
  else err.line('No worker reported the time of each part.')
}

const phaseNames = ['backlog', 'queue', 'exec', 'reply', 'total'] as const

export const callCommand: Command = {
  name: 'call',
  usage: 'call <task> [json | -]',
  summary: 'call a task and print its result',
  about: [
    'Calls a task and prints its result as JSON on stdout. name:1.0 means exactly that version, name:1 the newest ' +
      'live 1.x, and name the newest live version. Pass the arguments as JSON, or - to read them from stdin; the ' +
      'default is {}. If workers of several queues have the task, --queue chooses one.',
    'If the call fails, its code and message go to stderr. With --json they are one line of JSON: code, message, ran ' +
      '(no, maybe or yes: whether the task was started), retryable, and task, id and data if known. Ctrl-C stops ' +
      'waiting; the task may keep running.',
    'At a terminal, a task that is declared dangerous runs after you type its name; elsewhere it needs --yes.',
    '--phases adds a line on stderr with the time of each part: backlog in Redis, queue in the worker until the ' +
      'handler started, exec of the handler, reply (the push and the way back), and the total. With --json it is JSON, ' +
      'in microseconds.',
    '--stream prints each chunk that the task yields as a line of JSON on stdout, and the returned value, if any, on ' +
      'stderr. A slow reader slows the task down; closing the pipe (as head does) or pressing Ctrl-C cancels it.',
    'On a terminal, a line on stderr shows the progress that the handler reports.',
  ],
  arity: { min: 1, max: 2, missing: 'the name of a task, as in: pshub call add:1.0 \'{"a":1,"b":2}\'' },
  takesTasks: true,
  options: [
    { flag: 'timeout', value: 'time', about: 'how long to wait for the result', fallback: "the task's own" },
    { flag: 'queue', value: 'name', about: 'call workers of this queue only', fallback: 'the first of the task' },
    { flag: 'yes', about: 'run a dangerous task without confirmation' },
    { flag: 'raw', about: 'print the result in one line, also on a terminal' },
    { flag: 'stream', about: 'print each chunk that the task yields as a line of JSON' },
    { flag: 'phases', about: 'print the time of each part on stderr' },
    jsonOption,
    nameOption,
    ...callerOptionsWith('silent'),
  ],
  examples: [
    { line: `pshub call add:1.0 '{"a":1,"b":2}'`, about: 'arguments on the command line' },
    { line: 'pshub call resize_image:1 - --timeout 30s < order.json', about: 'arguments from a file' },
    { line: 'pshub call chat:1.0 --stream | jq -r .text', about: 'each chunk as it arrives' },
    { line: 'pshub call report --raw | jq .total', about: 'without arguments, the result for a program' },
  ],
  exitCodes: {
    0: 'the task returned a result',
    1: 'the task ran and failed: TaskFailed, InvalidResult; or another failure',
    2: 'the command line or a setting is wrong, or the task is dangerous and was not confirmed',
    3: 'it was not run: NoSuchTask, NoWorkers, Overloaded, NotEnqueued (Redis is unreachable), Expired, InvalidArgs, PayloadTooLarge',
    4: 'it may have run: Timeout, WorkerLost, OutcomeUnknown, Aborted',
    130: 'Ctrl-C (143 SIGTERM)',
  },
  run,
}
