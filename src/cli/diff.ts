import { compareSchemas } from '../schema-diff/index.ts'
import { changesOf, changesOfAll, type TaskChange } from '../types/changes.ts'
import { readSchema, readSchemas, schemasOf, type TaskSchemas } from '../types/schemas.ts'
import { UsageError } from './arguments.ts'
import { strictOption, writeChanges } from './changes-text.ts'
import type { Command, Invocation } from './command.ts'
import { jsonOption } from './options.ts'
import { isPlace, liveTasks, namedTask, readPlace } from './schema-source.ts'

const run = async (invocation: Invocation): Promise<number> => {
  const { positionals, flags, output } = invocation
  const [before, after] = positionals as [string, string]
  const changes = await changesBetween(before, after, invocation)
  const code = writeChanges(changes, invocation)
  if (changes.length === 0 && flags.json === undefined) output.err.line('Their schemas are the same.')
  return code
}

const changesBetween = async (before: string, after: string, invocation: Invocation): Promise<TaskChange[]> => {
  if (!isPlace(before) && !isPlace(after)) {
    const tasks = schemasOf(await liveTasks(invocation, diffCommand))
    return changesOf(namedTask(tasks, before, 'diff'), namedTask(tasks, after, 'diff'))
  }
  if (!isPlace(before)) return changesOf(await live(before, invocation), await inFile(after, before, invocation))
  if (!isPlace(after)) return changesOf(await inFile(before, after, invocation), await live(after, invocation))
  const texts = [await readPlace(before, invocation.host), await readPlace(after, invocation.host)] as const
  const of = invocation.flags.result === undefined ? 'args' : 'result'
  const [old, now] = texts.map(readSchema)
  if (old && now) return compareSchemas(old, now, of).map(change => ({ task: '', of, ...change }))
  return changesOfAll(readSchemas(texts[0], before), readSchemas(texts[1], after))
}

const live = async (task: string, invocation: Invocation): Promise<TaskSchemas> =>
  namedTask(schemasOf(await liveTasks(invocation, diffCommand)), task, 'diff')

const inFile = async (place: string, task: string, invocation: Invocation): Promise<TaskSchemas> => {
  const found = readSchemas(await readPlace(place, invocation.host), place).find(each => each.task === task)
  if (found) return found
  throw new UsageError(`${place} has no task ${task}.`, 'diff')
}

export const diffCommand: Command = {
  name: 'diff',
  usage: 'diff <before> <after>',
  summary: 'show what changed between two schemas, and whether it breaks callers',
  about: [
    'Compares the schemas of tasks. Each argument is a file, an address or the name of a live task. A file may hold ' +
      'types written by pshub types, the output of pshub tasks --json, an OpenAPI document of the registry, or a ' +
      'single JSON Schema. If both sides hold many tasks, tasks of the same name are compared. Two names compare two ' +
      'live versions.',
    'breaks: a task is gone, valid arguments are now rejected, or a result may have new values. fits: nothing ' +
      'breaks. unclear: the schemas do not show it.',
  ],
  arity: { min: 2, max: 2, missing: 'two files or tasks, as in: pshub diff resize:1.0 resize:1.1' },
  takesTasks: true,
  options: [
    { flag: 'result', about: 'compare two JSON Schemas as those of a result', fallback: 'of arguments' },
    strictOption,
    jsonOption,
  ],
  examples: [
    { line: 'pshub diff resize:1.0 resize:1.1', about: 'two versions of a live task' },
    { line: 'pshub tasks --json > tasks.json', about: 'a snapshot, to compare with later' },
    { line: 'pshub diff tasks.json resize:1.0', about: 'one task, since then' },
    { line: 'pshub diff old/openapi.json new/openapi.json --strict', about: 'in CI, without Redis' },
  ],
  exitCodes: {
    0: 'nothing breaks callers',
    1: 'something breaks callers, or with --strict may; or another failure',
    2: 'the command line, a setting or a file is wrong',
    3: 'Redis could not be reached',
  },
  run,
}
