import type { TaskOverview } from '../catalogue/overview.ts'
import { HubError } from '../wire/errors.ts'
import { aliasesOf } from '../wire/names.ts'
import { nearNames } from '../wire/text/near-names.ts'
import { settingsOf, UsageError } from './arguments.ts'
import { type Load, type Measured, runLoad } from './bench-load.ts'
import { percentilesOf, writeBench } from './bench-picture.ts'
import type { Command, Invocation } from './command.ts'
import { parseDuration } from './duration.ts'
import { exitCodes, signalCodes } from './exit-codes.ts'
import { argumentsOf, queueOf, timeoutOf } from './flag-values.ts'
import { withHub } from './hub-session.ts'
import { jsonOption } from './options.ts'
import { Progress } from './progress.ts'

const run = async (invocation: Invocation): Promise<number> => {
  const { positionals, flags, output, host } = invocation
  const settings = settingsOf('hub', benchCommand, invocation, 'silent')
  const timeoutMs = timeoutOf(flags, 'bench')
  const options = { queue: queueOf(flags, 'bench'), ...(timeoutMs === undefined ? {} : { timeoutMs }) }
  const rate = flags.rate === undefined ? undefined : amountOf('rate', flags.rate, 1_000_000)
  const load: Omit<Load, 'task' | 'args'> = {
    options,
    rate,
    concurrency: wholeOf('concurrency', flags.concurrency ?? (rate === undefined ? '8' : '1000'), 10_000),
    durationMs: parseDuration(flags.duration ?? '10s', '--duration'),
  }
  if (load.durationMs <= 0) throw new UsageError('--duration must be longer than 0.', 'bench')
  const args = await argumentsOf(positionals[1], invocation, 'bench')
  return withHub(settings, invocation, {
    work: async (hub, interrupt) => {
      const { tasks } = await hub.overview()
      const task = taskOf(tasks, positionals[0]!)
      if (!task.idempotent && flags.yes === undefined)
        throw new UsageError(
          `${task.task} is not declared idempotent, and each call would run it. To run it anyway: --yes`,
          'bench',
        )
      // One call first: what its arguments lack is told once, and no connection is measured.
      await hub.call(task.task, args, { ...options, signal: interrupt })
      const total = Math.ceil(load.durationMs / 1000)
      const progress = new Progress(total, output.err.isTerminal ? text => host.stderr.write(text) : undefined)
      const measured = await runLoad(hub, { ...load, task: task.task, args }, interrupt, ({ elapsedMs }) =>
        progress.show(Math.min(total, Math.floor(elapsedMs / 1000))),
      )
      progress.end()
      tell(measured, invocation)
      if (interrupt.aborted) return signalCodes.SIGINT
      return measured.ok > 0 ? exitCodes.ok : exitCodes.failed
    },
  })
}

const tell = (measured: Measured, { flags, output }: Invocation): void => {
  if (flags.json === undefined) {
    writeBench(measured, output.out)
    return
  }
  const { ok, errors, elapsedMs, waits } = measured
  const percentiles = Object.fromEntries(percentilesOf(waits).map(({ name, ...us }) => [name, us]))
  output.json({
    ok,
    errors,
    elapsedMs: Math.round(elapsedMs),
    callsPerSecond: (ok * 1000) / elapsedMs,
    us: percentiles,
  })
}

const taskOf = (tasks: readonly TaskOverview[], called: string): TaskOverview => {
  const live = tasks.filter(({ workers }) => workers.length > 0)
  const full = aliasesOf(live.map(({ task }) => task)).get(called) ?? called
  const found = live.find(({ task }) => task === full)
  if (found) return found
  const near = nearNames(
    called,
    live.map(({ task }) => task),
  )
  const hint = near.length > 0 ? `Did you mean ${near.join(' or ')}?` : 'To list the tasks: pshub tasks'
  throw new HubError('NoWorkers', `No live worker has ${called}. ${hint}`, { task: called })
}

const wholeOf = (flag: string, text: string, most: number): number => {
  if (/^[1-9]\d*$/.test(text) && Number(text) <= most) return Number(text)
  throw new UsageError(`--${flag} must be a whole number from 1 to ${most}; it is '${text}'.`, 'bench')
}

const amountOf = (flag: string, text: string, most: number): number => {
  if (/^\d+(\.\d+)?$/.test(text) && Number(text) > 0 && Number(text) <= most) return Number(text)
  throw new UsageError(`--${flag} must be a number above 0, and at most ${most}; it is '${text}'.`, 'bench')
}

export const benchCommand: Command = {
  name: 'bench',
  usage: 'bench <task> [json | -]',
  summary: 'put load on a live task and measure its calls',
  about: [
    'Calls a task repeatedly with the same arguments. Shows how many calls per second succeeded, and a bar for each ' +
      'percentile of the wait with its parts: backlog in Redis, queue in the worker, exec of the handler, reply (the ' +
      'push and the way back). The workers do real work: a task that is not declared idempotent needs --yes.',
    'Without --rate, as many callers as --concurrency says call one after the other. With --rate, calls start at ' +
      'that pace even while earlier ones are in flight, and each wait counts from the planned start. Ctrl-C stops and ' +
      'shows the figures so far.',
  ],
  arity: { min: 1, max: 2, missing: 'the name of a task, as in: pshub bench add:1.0 \'{"a":1,"b":2}\'' },
  takesTasks: true,
  options: [
    { flag: 'duration', value: 'time', about: 'how long to call', fallback: '10s' },
    { flag: 'concurrency', value: 'n', about: 'maximum of calls in flight', fallback: '8; with --rate 1000' },
    { flag: 'rate', value: 'n', about: 'calls started per second', fallback: 'as many as finish' },
    { flag: 'timeout', value: 'time', about: 'how long to wait for a result', fallback: "the task's own" },
    { flag: 'queue', value: 'name', about: 'call workers of this queue only', fallback: 'the first of the task' },
    { flag: 'yes', about: 'run a task that is not idempotent' },
    jsonOption,
  ],
  examples: [
    { line: `pshub bench add:1.0 '{"a":1,"b":2}'`, about: 'eight callers for ten seconds' },
    { line: 'pshub bench resize - --rate 200 --duration 1m < photo.json', about: 'at the pace of a busy hour' },
    { line: 'pshub bench add:1.0 --json | jq .us.p99', about: 'one percentile with its parts, in microseconds' },
  ],
  exitCodes: {
    0: 'shown',
    1: 'no call succeeded, or another failure',
    2: 'the command line or a setting is wrong, or the task is not idempotent',
    3: 'the first call was not run: NoWorkers, InvalidArgs, NotEnqueued (Redis is unreachable)',
    4: 'the first call may have run: Timeout and others',
    130: 'Ctrl-C or SIGTERM; shows the figures so far',
  },
  run,
}
