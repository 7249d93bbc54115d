#!/usr/bin/env node
import { nearNames } from '../wire/names.ts'
import { version } from '../wire/version.ts'
import { parseCommandLine, UsageError } from './arguments.ts'
import { callCommand } from './call.ts'
import { checkCommand } from './check.ts'
import type { Command } from './command.ts'
import { deadCommand } from './dead.ts'
import { enqueueCommand } from './enqueue.ts'
import { exitCodes } from './exit-codes.ts'
import { failuresCommand } from './failures.ts'
import { writeHelp, writeOverview } from './help.ts'
import { inspectCommand } from './inspect.ts'
import { installCommand } from './install.ts'
import { jobCommand } from './job.ts'
import { jobsCommand } from './jobs.ts'
import { metricsCommand } from './metrics.ts'
import { ignoreClosedPipes, makeOutput, type Output } from './output.ts'
import { pauseCommand, resumeCommand } from './pause.ts'
import { queuesCommand } from './queues.ts'
import { registryCommand } from './registry-command.ts'
import { report } from './report.ts'
import { schedulesCommand } from './schedules.ts'
import { slowCommand } from './slow.ts'
import { tasksCommand } from './tasks.ts'
import { topCommand } from './top.ts'
import { workerCommand } from './worker.ts'
import { workersCommand } from './workers.ts'

const commands: readonly Command[] = [
  workerCommand,
  callCommand,
  enqueueCommand,
  tasksCommand,
  workersCommand,
  inspectCommand,
  queuesCommand,
  jobsCommand,
  jobCommand,
  deadCommand,
  schedulesCommand,
  pauseCommand,
  resumeCommand,
  slowCommand,
  failuresCommand,
  topCommand,
  registryCommand,
  metricsCommand,
  checkCommand,
  installCommand,
]

const dispatch = async (argv: string[], output: Output): Promise<number> => {
  const [first, ...rest] = argv
  if (first === undefined) {
    writeOverview(output.err, commands)
    return exitCodes.usage
  }
  if (first === 'help' || first === '--help' || first === '-h') return help(rest[0], output)
  if (first === '--version' || first === '-v') {
    output.out.line(version)
    return exitCodes.ok
  }
  if (first.startsWith('-')) throw new UsageError(`The command comes first, as in: pshub tasks ${first}`)
  const command = commandNamed(first)
  const invocation = { ...parseCommandLine(command, rest), output }
  if (invocation.flags.help !== undefined) return help(first, output)
  return command.run(invocation)
}

const help = (name: string | undefined, { out }: Output): number => {
  if (name === undefined || name === 'help' || name.startsWith('-')) writeOverview(out, commands)
  else writeHelp(out, commandNamed(name))
  return exitCodes.ok
}

const commandNamed = (name: string): Command => {
  const command = commands.find(known => known.name === name)
  if (command) return command
  const names = commands.map(known => known.name)
  const near = nearNames(name, names)
  const hint = near.length > 0 ? `Did you mean ${near.join(' or ')}?` : `There are ${names.join(', ')} and help.`
  throw new UsageError(`pshub has no command '${name}'. ${hint}`)
}

/** Whether a switch was typed, also on a command line that could not be parsed. */
const wasTyped = (argv: string[], flag: string): boolean => argv.includes(flag)

const main = async (argv: string[]): Promise<number> => {
  ignoreClosedPipes()
  const output = makeOutput()
  try {
    return await dispatch(argv, output)
  } catch (error) {
    return report(error, output, { json: wasTyped(argv, '--json'), debug: wasTyped(argv, '--debug') })
  }
}

const code = await main(process.argv.slice(2))
// Tasks may have left timers and sockets behind. What was written goes out first; on some systems pipes take a moment.
process.stdout.write('', () => process.stderr.write('', () => process.exit(code)))
