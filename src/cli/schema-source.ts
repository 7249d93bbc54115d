import { readFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { TaskOverview } from '../catalogue/overview.ts'
import { variableIn } from '../settings/read.ts'
import { readSchemas, schemasOf, type TaskSchemas } from '../types/schemas.ts'
import { ConfigError, messageOf } from '../wire/errors.ts'
import { tryParseTaskName } from '../wire/names.ts'
import { settingsOf, UsageError } from './arguments.ts'
import type { Command, Invocation } from './command.ts'
import type { Host } from './host.ts'
import { readRegistry } from './registry.ts'
import { unreadableOf, warn } from './warnings.ts'

/** An OpenAPI document of many tasks; whoever answers with more is none of ours. */
const maxBytes = 64 * 1024 * 1024
const patienceMs = 10_000

/** Whether an argument names a file or an address, and no task. */
export const isPlace = (text: string): boolean => /^https?:/.test(text) || tryParseTaskName(text) === undefined

/** @throws ConfigError for what cannot be read */
export const readPlace = async (place: string, host: Host): Promise<string> => {
  try {
    return await (/^https?:/.test(place) ? fetched(place, host) : readFile(resolve(host.cwd, place), 'utf8'))
  } catch (error) {
    const { code, cause } = error as NodeJS.ErrnoException
    const why = code === 'ENOENT' ? 'there is no such file' : messageOf(cause ?? error)
    throw new ConfigError(`${place} cannot be read: ${why}.`)
  }
}

const fetched = async (address: string, { env }: Host): Promise<string> => {
  // Who may see the document says so with a token of the registry, which does not belong on a command line.
  const token = variableIn(env, 'PSHUB_TOKEN')
  // What fetch says of one that cannot be a header shows it.
  if (/[^\x21-\x7e]/.test(token ?? '')) throw new Error('PSHUB_TOKEN holds a character that tokens cannot have')
  const response = await fetch(address, {
    signal: AbortSignal.timeout(patienceMs),
    headers: token ? { authorization: `Bearer ${token}` } : {},
  })
  if (response.status === 401 || response.status === 403)
    throw new Error(`it requires a token of the registry (HTTP ${response.status}); set PSHUB_TOKEN`)
  if (!response.ok) throw new Error(`it answered with HTTP ${response.status}`)
  const text = await response.text()
  if (text.length > maxBytes) throw new Error('it is too large')
  return text
}

/** The tasks that live workers provide, or those of the place that `--from` names. */
export const sourceTasks = async (invocation: Invocation, command: Command): Promise<TaskSchemas[]> => {
  const { flags, output, host } = invocation
  if (flags.from !== undefined) return readSchemas(await readPlace(flags.from, host), flags.from)
  const tasks = await liveTasks(invocation, command)
  const doubled = tasks.filter(({ conflict }) => conflict)
  for (const { task } of doubled)
    warn(output.err, `live workers declare ${task} with different schemas; this shows one of them.`)
  return schemasOf(tasks)
}

/** Tasks that are there to be called. */
export const liveTasks = async (invocation: Invocation, command: Command): Promise<TaskOverview[]> => {
  const overview = await readRegistry(settingsOf('hub', command, invocation, 'silent'))
  warn(invocation.output.err, unreadableOf(overview))
  return overview.tasks.filter(({ workers }) => workers.length > 0)
}

/** @throws UsageError where nothing is named that could be looked at */
export const namedTask = (tasks: readonly TaskSchemas[], name: string, command: string): TaskSchemas => {
  const found = tasks.find(({ task }) => task === name)
  if (found) return found
  throw new UsageError(`No live worker has ${name}. To list the tasks: pshub tasks`, command)
}
