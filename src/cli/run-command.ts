import { nearNames } from '../wire/text/near-names.ts'
import { version } from '../wire/version.ts'
import { parseCommandLine, UsageError } from './arguments.ts'
import type { Command } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { writeHelp, writeOverview } from './help.ts'
import type { Host } from './host.ts'
import { makeOutput, type Output } from './output.ts'
import { report } from './report.ts'

/** Each loads what it needs, and nothing else: a command begins sooner. */
const commands: Record<string, () => Promise<Command>> = {
  init: async () => (await import('./init.ts')).initCommand,
  dev: async () => (await import('./dev.ts')).devCommand,
  worker: async () => (await import('./worker.ts')).workerCommand,
  forward: async () => (await import('./forward.ts')).forwardCommand,
  call: async () => (await import('./call.ts')).callCommand,
  enqueue: async () => (await import('./enqueue.ts')).enqueueCommand,
  tasks: async () => (await import('./tasks.ts')).tasksCommand,
  workers: async () => (await import('./workers.ts')).workersCommand,
  forget: async () => (await import('./forget.ts')).forgetCommand,
  inspect: async () => (await import('./inspect.ts')).inspectCommand,
  queues: async () => (await import('./queues.ts')).queuesCommand,
  jobs: async () => (await import('./jobs.ts')).jobsCommand,
  job: async () => (await import('./job.ts')).jobCommand,
  dead: async () => (await import('./dead.ts')).deadCommand,
  key: async () => (await import('./key.ts')).keyCommand,
  schedules: async () => (await import('./schedules.ts')).schedulesCommand,
  shards: async () => (await import('./shards.ts')).shardsCommand,
  pause: async () => (await import('./pause.ts')).pauseCommand,
  resume: async () => (await import('./pause.ts')).resumeCommand,
  slow: async () => (await import('./slow.ts')).slowCommand,
  failures: async () => (await import('./failures.ts')).failuresCommand,
  trace: async () => (await import('./trace.ts')).traceCommand,
  top: async () => (await import('./top.ts')).topCommand,
  types: async () => (await import('./types.ts')).typesCommand,
  diff: async () => (await import('./diff.ts')).diffCommand,
  registry: async () => (await import('./registry-command.ts')).registryCommand,
  mcp: async () => (await import('./mcp.ts')).mcpCommand,
  metrics: async () => (await import('./metrics.ts')).metricsCommand,
  bench: async () => (await import('./bench.ts')).benchCommand,
  check: async () => (await import('./check.ts')).checkCommand,
  doctor: async () => (await import('./check.ts')).doctorCommand,
  install: async () => (await import('./install.ts')).installCommand,
  completion: async () => (await import('./completion.ts')).completionCommand,
}
const allCommands = (): Promise<Command[]> => Promise.all(Object.values(commands).map(load => load()))

const dispatch = async (argv: string[], host: Host, output: Output): Promise<number> => {
  const [first, ...rest] = argv
  if (first === undefined) {
    writeOverview(output.err, await allCommands())
    return exitCodes.usage
  }
  if (first === 'help' || first === '--help' || first === '-h') return help(rest[0], output)
  if (first === '--version' || first === '-v') {
    output.out.line(version)
    return exitCodes.ok
  }
  if (first.startsWith('-')) throw new UsageError(`Put the command first: pshub tasks ${first}`)
  const command = await commandNamed(first)
  const invocation = { ...parseCommandLine(command, rest), output, host, commands: allCommands }
  if (invocation.flags.help !== undefined) return help(first, output)
  return command.run(invocation)
}

const help = async (name: string | undefined, { out }: Output): Promise<number> => {
  if (name === undefined || name === 'help' || name.startsWith('-')) writeOverview(out, await allCommands())
  else writeHelp(out, await commandNamed(name))
  return exitCodes.ok
}

const commandNamed = async (name: string): Promise<Command> => {
  if (Object.hasOwn(commands, name)) return commands[name]!()
  const names = Object.keys(commands)
  const near = nearNames(name, names)
  const hint = near.length > 0 ? `Did you mean ${near.join(' or ')}?` : `Commands: ${names.join(', ')} and help.`
  throw new UsageError(`pshub has no command '${name}'. ${hint}`)
}

/** Whether a switch was typed, also on a command line that could not be parsed. */
const wasTyped = (argv: string[], flag: string): boolean => argv.includes(flag)

/** Runs one command line and resolves with its exit code. It leaves nothing behind in the process, but what modules of tasks do there. */
export const runCommand = async (argv: string[], host: Host): Promise<number> => {
  const output = makeOutput(host)
  try {
    return await dispatch(argv, host, output)
  } catch (error) {
    return report(error, output, { json: wasTyped(argv, '--json'), debug: wasTyped(argv, '--debug') })
  }
}
