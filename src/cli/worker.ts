import { settingsOf } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { lastWordsOf, watchFaults } from './faults.ts'
import { lookLines } from './look-text.ts'
import { servingOptions } from './options.ts'
import { orStuck } from './or-stuck.ts'
import { serve } from './serve.ts'

const run = async (invocation: Invocation): Promise<number> => {
  const settings = settingsOf('worker', workerCommand, invocation, 'info')
  // Loaded here, because schemas and logs cost all other commands a third of their time.
  const { makeLogger } = await import('../outlets/log.ts')
  const { loadTasks } = await import('./load-tasks.ts')
  const { Worker } = await import('../worker/worker.ts')
  const log = makeLogger(settings)
  let onFatal = (): void => process.exit(exitCodes.failed)
  let lastWords: ((error: unknown) => unknown)[] = []
  const endOfFaults = watchFaults(
    log,
    () => onFatal(),
    lastWordsOf(() => lastWords),
  )
  const loaded = await loadTasks(invocation.positionals, invocation.host.cwd).catch(error => {
    endOfFaults()
    throw error
  })
  lastWords = loaded.lastWords
  if (loaded.passedOver.length > 0)
    log.info({ contracts: loaded.passedOver }, 'skipping contracts: only tasks with a handler are served')
  const onStart = async () => {
    for (const hook of loaded.onStart) await orStuck('onStart', async () => hook())
  }
  const worker = new Worker({ ...settings, tasks: loaded.tasks, onStart })
  process.on('SIGTTIN', () => process.stderr.write(`${worker.look().flatMap(lookLines).join('\n')}\n`))
  return serve(worker, settings, log, listener => {
    onFatal = listener
  })
}

export const workerCommand: Command = {
  name: 'worker',
  usage: 'worker <module...>',
  summary: 'serve the tasks that modules export',
  about: [
    'Imports the modules and serves every task that they export: the return value of defineTask, alone, in an array ' +
      'or in a plain object. A module is a path, a file URL or the name of a package.',
    'Ctrl-C or SIGTERM stops the worker gracefully: it claims no more requests, running tasks finish within the ' +
      'grace period, and the rest returns to the queue. A second signal stops it at once. While Redis is unreachable, ' +
      'it keeps reconnecting. An unhandled promise rejection is logged and affects no other task; an uncaught ' +
      'exception stops the worker. The log is JSON lines on stderr.',
    'A module may also export functions: onStart, awaited before the first task runs, and lastWords, which receives ' +
      'an error outside of any task and has two seconds to finish. kill -TTIN <pid> makes the worker write its running ' +
      'tasks to stderr (see pshub help inspect).',
  ],
  arity: {
    min: 1,
    max: Number.POSITIVE_INFINITY,
    missing: 'a module that exports tasks, as in: pshub worker ./tasks.mjs',
  },
  options: [
    {
      flag: 'queue',
      value: 'name',
      isList: true,
      about:
        "queue to serve; repeat --queue for several, in order of priority or by weight: high:3; '*' for all queues",
      setting: 'queue',
      fallback: "'default'",
    },
    { flag: 'slots', value: 'n', about: 'requests to run at once', setting: 'slots' },
    {
      flag: 'job-slots',
      value: 'n',
      about: 'how many of the slots may run jobs',
      setting: 'jobSlots',
      fallback: 'half',
    },
    {
      flag: 'max-blocked',
      value: 'time',
      about: 'how long a blocked event loop keeps its lease',
      setting: 'maxBlockedMs',
      isDuration: true,
      fallback: '1m',
    },
    ...servingOptions('running tasks'),
  ],
  examples: [
    { line: 'pshub worker ./tasks.mjs', about: 'serve the queue default with 4 slots' },
    {
      line: 'pshub worker ./images.mjs ./mail.mjs --queue media --slots 16 --grace 30s',
      about: 'two modules, another queue, more slots',
    },
    { line: 'pshub worker ./tasks.mjs --queue high:3 --queue default:1', about: 'two queues, one preferred' },
  ],
  exitCodes: {
    0: 'stopped gracefully',
    1: 'a module failed while loading, or an exception was not caught',
    2: 'the command line, a setting, a module without tasks, or a Redis that cannot keep the promises',
    130: 'stopped at once by a second Ctrl-C (143 by a second SIGTERM)',
  },
  run,
}
