import { settingsOf } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { exitCodes, signalCodes } from './exit-codes.ts'
import { callerOptions } from './options.ts'
import { loadRegistryPackage } from './registry-package.ts'
import { onStopSignals } from './stop-signals.ts'

const run = async (invocation: Invocation): Promise<number> => {
  const settings = settingsOf('registry', mcpCommand, invocation, 'warn')
  const { serveToolsOverStdio } = await loadRegistryPackage('Tools for agents are', invocation.host.cwd)
  let stop = (): void => undefined
  const stopped = new Promise<void>(resolve => {
    stop = resolve
  })
  const endOfSignals = onStopSignals(stop, signal => process.exit(signalCodes[signal]))
  try {
    const running = await serveToolsOverStdio(settings)
    await Promise.race([stopped, running.ended])
    await running.close()
    return exitCodes.ok
  } finally {
    endOfSignals()
  }
}

export const mcpCommand: Command = {
  name: 'mcp',
  usage: 'mcp',
  summary: 'offer live tasks to an agent as tools, over stdin and stdout',
  about: [
    'A server of the Model Context Protocol: an agent starts it, lists its tools and calls them. Each task with a ' +
      'live worker is a tool, with its description and schemas; tools appear and disappear with their workers.',
    'Install its packages next to pshub: npm install pshub-registry @modelcontextprotocol/sdk@1.',
    '--run-tasks chooses which tasks are tools. The default is all tasks that are not dangerous; name a dangerous ' +
      'task in full, without a *.',
    'It ends when the agent closes stdin, or on Ctrl-C or SIGTERM; runs in flight are cancelled. The log is on ' +
      'stderr. For agents on other machines, `pshub registry` serves the same tools over HTTP at /mcp, with tokens.',
  ],
  arity: { min: 0, max: 0 },
  options: [
    {
      flag: 'run-tasks',
      value: 'names',
      about: 'tasks to offer, such as mail/*,add:1.0',
      setting: 'runTasks',
      fallback: 'all tasks that are not dangerous',
    },
    ...callerOptions,
  ],
  examples: [
    { line: 'pshub mcp', about: 'as the command of a server in the settings of an agent' },
    { line: "pshub mcp --run-tasks '*,drop_index:1.0'", about: 'all tasks, and a dangerous one' },
  ],
  exitCodes: {
    0: 'the agent closed stdin, or a signal stopped it',
    1: 'it failed',
    2: 'the command line or a setting is wrong, or a package is missing',
    130: 'stopped at once by a second Ctrl-C (143 by a second SIGTERM)',
  },
  run,
}
