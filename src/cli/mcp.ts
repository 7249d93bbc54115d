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
  summary: 'give live tasks to an agent as tools, over stdin and stdout',
  about: [
    'A server of the Model Context Protocol: an agent starts it, asks for its tools and calls them. Each task that a live worker provides ' +
      'is one, with its description and schemas; they come and go with their workers.',
    'Its parts are installed beside pshub: npm install pshub-registry @modelcontextprotocol/sdk@1.',
    'Which tasks are tools --run-tasks says, by default all that are not dangerous: those it has to name one by one, without a *.',
    'It ends when its agent closes stdin, and with Ctrl-C or SIGTERM; runs under way are given up then. The log is on stderr. ' +
      'For agents on other machines, with tokens, `pshub registry` serves the same tools over HTTP at /mcp.',
  ],
  arity: { min: 0, max: 0 },
  options: [
    {
      flag: 'run-tasks',
      value: 'names',
      about: 'tasks that are tools, as in mail/*,add:1.0',
      setting: 'runTasks',
      fallback: 'all that are not dangerous',
    },
    ...callerOptions,
  ],
  examples: [
    { line: 'pshub mcp', about: 'as the command of a server in the settings of an agent' },
    { line: "pshub mcp --run-tasks '*,drop_index:1.0'", about: 'all, and a dangerous one' },
  ],
  exitCodes: {
    0: 'the agent has gone, or a signal ended it',
    1: 'it failed',
    2: 'the command line or a setting is wrong, or a package is missing',
    130: 'ended at once by a second Ctrl-C (143 by a second SIGTERM)',
  },
  run,
}
