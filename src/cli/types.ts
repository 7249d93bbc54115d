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
      throw new UsageError(`--${flag} is for --check: pshub types prints types.`, 'types')
  if (flags.python !== undefined && flags.check !== undefined)
    throw new UsageError(
      '--check looks at the schemas that the file carries, whatever its language: leave --python out.',
      'types',
    )
  if (flags.check !== undefined) return check(flags.check, invocation)
  const tasks = await sourceTasks(invocation, typesCommand)
  if (tasks.length === 0) {
    output.err.line('There is no task to write types of: no live worker has one. Start one: pshub worker ./tasks.mjs')
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
    err.line(`${file} is what ${now.length === 1 ? 'the one task is' : `the ${now.length} tasks are`} now.`)
  else if (code === exitCodes.ok) err.line(`${file} still holds; write it again to have what is new: pshub types`)
  else err.line(`${file} does not hold any more: callers that were compiled with it can fail.`)
  return code
}

export const typesCommand: Command = {
  name: 'types',
  usage: 'types',
  summary: 'write types of all live tasks, for callers in TypeScript or Python',
  about: [
    'Prints a module of types: of the arguments and the result of each task that a live worker provides, and Tasks, with which a hub knows ' +
      'the tasks by name: new Hub<Tasks>(). A wrong argument, a field that the result has not and a task that there is not are then errors of the compiler. ' +
      'The schemas stand in its last line, for --check.',
    'With --python it is a stub with a TypedDict for each, and Tasks, the type of hub.tasks.',
    'With --check nothing is written: the file is compared with the tasks as they are now, or with those of --from. It fails where a ' +
      'task is gone, arguments that fitted are refused, or a result may come that could not: what breaks callers that were compiled with it.',
    'With --from the tasks are read from a file instead of Redis: another file of types, what pshub tasks --json printed, or an OpenAPI ' +
      'document of the registry, also by its address; PSHUB_TOKEN is sent to that as a bearer token.',
  ],
  arity: { min: 0, max: 0 },
  options: [
    { flag: 'python', about: 'types for Python' },
    { flag: 'from', value: 'file', about: 'file or address to read the tasks from', fallback: 'Redis' },
    { flag: 'check', value: 'file', about: 'say whether that file of types still holds' },
    strictOption,
    jsonOption,
  ],
  examples: [
    {
      line: 'pshub types > tasks.d.ts',
      about: "then: import type { Tasks } from './tasks.js'; const hub = new Hub<Tasks>()",
    },
    { line: 'pshub types --check tasks.d.ts', about: 'in CI: do the live tasks still fit?' },
    { line: 'pshub types --from https://hub.example/openapi.json > tasks.d.ts', about: 'without Redis' },
    { line: 'pshub types --python > tasks.pyi', about: 'for mypy and pyright' },
  ],
  exitCodes: {
    0: 'they are written; with --check: nothing breaks callers',
    1: 'there is no task; with --check: something breaks callers, or with --strict may; or another failure',
    2: 'the command line, a setting or a file is wrong',
    3: 'Redis could not be reached',
  },
  run,
}
