import { settingsOf, UsageError } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { enqueueLines, type Line, readLines, textOfFile } from './enqueue-file.ts'
import { enqueueFlags, enqueueOptionsOf } from './enqueue-flags.ts'
import { exitCodes } from './exit-codes.ts'
import { argumentsOf, timeoutOf } from './flag-values.ts'
import { withHub } from './hub-session.ts'
import { waitOptions, writeEnd } from './job-end.ts'
import { callerOptionsWith, jsonOption, nameOption } from './options.ts'

/** A person waits: nobody wants to look at nothing for longer. */
const patienceMs = 2000

const run = async (invocation: Invocation): Promise<number> => {
  const { positionals, flags, output } = invocation
  const settings = settingsOf('hub', enqueueCommand, invocation, 'silent')
  const [task, given] = positionals
  const options = enqueueOptionsOf(flags)
  const lines = await linesOf(invocation)
  if (lines)
    return withHub(settings, invocation, {
      work: (hub, interrupt) => enqueueLines(hub, lines, options, invocation, interrupt),
    })
  const args = await argumentsOf(given, invocation, 'enqueue')
  return withHub(settings, invocation, {
    work: async (hub, interrupt) => {
      if (flags['dry-run'] !== undefined)
        return enqueueLines(hub, [{ entry: [task!, args], line: 1 }], options, invocation, interrupt)
      const job = await hub.enqueue(task!, args, { timeoutMs: patienceMs, ...options })
      const { id, queue, isTwin } = job
      const isWaiting = flags.wait !== undefined
      // Who waits for the result gets that alone on stdout.
      if (flags.json === undefined) (isWaiting ? output.err : output.out).line(id)
      else if (!isWaiting) output.json({ id, queue, task: job.task, isTwin })
      if (isTwin && flags.json === undefined) output.err.line(`Nothing was enqueued: it is a duplicate of ${id}.`)
      return isWaiting ? writeEnd(job, invocation, interrupt) : exitCodes.ok
    },
  })
}

/** Undefined where one job is meant, whose task and arguments are on the command line. @throws UsageError */
const linesOf = async (invocation: Invocation): Promise<Line[] | undefined> => {
  const { positionals, flags } = invocation
  const [task, given] = positionals
  const { file, wait } = flags
  if (timeoutOf(flags, 'enqueue') !== undefined && wait === undefined) throw wrong('--timeout needs --wait.')
  if (wait !== undefined && flags['dry-run'] !== undefined)
    throw wrong('--dry-run enqueues nothing, so there is nothing to --wait for.')
  if (file === undefined) {
    if (task === undefined)
      throw wrong('pshub enqueue needs the name of a task, as in: pshub enqueue report:1.0 \'{"month":"2026-11"}\'')
    return undefined
  }
  if (given !== undefined) throw wrong('With --file arguments come from the file, not from the command line.')
  if (wait !== undefined) throw wrong('--wait waits for one job; it cannot be given with --file.')
  return readLines(file === '-' ? 'stdin' : file, await textOfFile(file, invocation), task)
}

const wrong = (message: string): UsageError => new UsageError(message, 'enqueue')

export const enqueueCommand: Command = {
  name: 'enqueue',
  usage: 'enqueue <task> [json | -]',
  summary: 'enqueue jobs: tasks that run in the background',
  about: [
    'Enqueues a job and prints its id. A worker runs it when a slot is idle, and retries it when it fails. No worker ' +
      'has to be live; if no worker has declared the task yet, pass --queue. The task and its arguments are given as ' +
      'for pshub call.',
    '--wait waits until the job ends and prints the result, as pshub call does; the id goes to stderr.',
    '--file enqueues many jobs. Each line is JSON: [task, arguments, options] with the options of hub.enqueue(), or ' +
      'only the arguments if the command line names a task. All lines are checked before the first job is enqueued. ' +
      'Flags apply to all jobs; options in a line take precedence.',
    '--dry-run checks the task, its arguments and the options, and enqueues nothing.',
  ],
  arity: { min: 0, max: 2 },
  takesTasks: true,
  options: [
    ...enqueueFlags,
    ...waitOptions,
    { flag: 'file', value: 'path', about: 'enqueue one job per line of this file; - is stdin' },
    { flag: 'dry-run', about: 'only check whether it can be enqueued' },
    jsonOption,
    nameOption,
    ...callerOptionsWith('silent').filter(({ setting }) => setting !== 'maxBacklog'),
  ],
  examples: [
    { line: `pshub enqueue report:1.0 '{"month":"2026-11"}'`, about: 'as soon as a slot is idle' },
    {
      line: 'pshub enqueue report:1.0 --delay 5m --retries 3 --unique=november',
      about: 'later, with three retries, once',
    },
    { line: 'pshub enqueue report:1.0 --wait > report.json', about: 'and wait for the result' },
    { line: 'pshub enqueue resize:1.0 --file sizes.jsonl --priority low', about: 'one job per line of a file' },
  ],
  exitCodes: {
    0: 'enqueued, or existed already; with --wait: it succeeded',
    1: 'with --wait: the job is dead',
    2: 'the command line, a line of the file or a setting is wrong',
    3: 'it was not enqueued: NoSuchTask, NotEnqueued (Redis is unreachable), InvalidArgs, PayloadTooLarge',
    4: 'it may have been enqueued: OutcomeUnknown; with --wait: its end is unknown: Timeout, Aborted',
    130: 'Ctrl-C (143 SIGTERM); with --wait the job continues',
  },
  run,
}
