import { changesOfAll } from '../types/changes.ts'
import { pythonOf } from '../types/python.ts'
import { readSchemas } from '../types/schemas.ts'
import { typescriptOf } from '../types/typescript.ts'
import { UsageError } from './arguments.ts'
import { strictOption, writeChanges } from './changes-text.ts'
import type { Command, Invocation } from './command.ts'
import { exitCodes } from './exit-codes.ts'
import { jsonOption } from './options.ts'
import { readPlace, sourceTasks } from './schema-source.ts'

const run = async (invocation: Invocation): Promise<number> => {
  const { flags, output } = invocation
  for (const flag of ['strict', 'json'])
    if (flags[flag] !== undefined && flags.check === undefined)
      throw new UsageError(`--${flag} works only with --check.`, 'types')
  if (flags.python !== undefined && flags.check !== undefined)
    throw new UsageError('--check reads the schemas in the file, whatever its language: omit --python.', 'types')
  if (flags.check !== undefined) return check(flags.check, invocation)
  const tasks = await sourceTasks(invocation, typesCommand)
  if (tasks.length === 0) {
    output.err.line('There are no tasks to write types for: no worker is live. Start one: pshub worker ./tasks.mjs')
    return exitCodes.failed
  }
  const text = flags.python === undefined ? typescriptOf(tasks) : pythonOf(tasks)
  output.out.line(text.trimEnd())
  return exitCodes.ok
}

const check = async (file: string, invocation: Invocation): Promise<number> => {
  const before = readSchemas(await readPlace(file, invocation.host), file)
  const now = await sourceTasks(invocation, typesCommand)
  const changes = changesOfAll(before, now)
  const code = writeChanges(changes, invocation)
  if (invocation.flags.json !== undefined) return code
  const { err } = invocation.output
  const { length: count } = changes
  if (count === 0)
    err.line(`${file} is up to date with ${now.length === 1 ? 'the one task' : `the ${now.length} tasks`}.`)
  else if (code === exitCodes.ok) err.line(`${file} is still valid, but not up to date. To update it: pshub types`)
  else err.line(`${file} is no longer valid: callers that were compiled with it can fail.`)
  return code
}

export const typesCommand: Command = {
  name: 'types',
  usage: 'types',
  summary: 'write types of all live tasks for callers in TypeScript or Python',
  about: [
    'Prints a module of types: the arguments and the result of each task with a live worker, and Tasks, which types ' +
      'a hub: new Hub<Tasks>(). The compiler then rejects a wrong argument, an unknown field of a result and an ' +
      'unknown task. The last line holds the schemas, for --check.',
    '--python prints a stub with TypedDicts for each task, and Tasks, the type of hub.tasks.',
    '--check writes nothing: it compares the file with the live tasks, or with those of --from. It fails if a task ' +
      'is gone, valid arguments are now rejected, or a result may have new values: such a change breaks callers that ' +
      'were compiled with the file.',
    '--from reads the tasks from a file instead of Redis: another file of types, the output of pshub tasks --json, ' +
      'or an OpenAPI document of the registry, also by its address. PSHUB_TOKEN is sent there as a bearer token.',
  ],
  arity: { min: 0, max: 0 },
  options: [
    { flag: 'python', about: 'types for Python' },
    { flag: 'from', value: 'file', about: 'file or address to read the tasks from', fallback: 'Redis' },
    { flag: 'check', value: 'file', about: 'check whether this file of types is still valid' },
    strictOption,
    jsonOption,
  ],
  examples: [
    {
      line: 'pshub types > tasks.d.ts',
      about: "then: import type { Tasks } from './tasks.js'; const hub = new Hub<Tasks>()",
    },
    { line: 'pshub types --check tasks.d.ts', about: 'in CI: do the live tasks still match?' },
    { line: 'pshub types --from https://hub.example/openapi.json > tasks.d.ts', about: 'without Redis' },
    { line: 'pshub types --python > tasks.pyi', about: 'for mypy and pyright' },
  ],
  exitCodes: {
    0: 'written; with --check: nothing breaks callers',
    1: 'there is no task; with --check: something breaks callers, or with --strict may; or another failure',
    2: 'the command line, a setting or a file is wrong',
    3: 'Redis could not be reached',
  },
  run,
}
