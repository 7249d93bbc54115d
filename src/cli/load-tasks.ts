import { existsSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { contractsIn, tasksIn } from '../task/exported.ts'
import { type Task, withoutHandler } from '../task/task.ts'
import { ConfigError, messageOf } from '../wire/errors.ts'
import { orStuck } from './or-stuck.ts'
import { prepareTypeScript } from './typescript.ts'

/** A module was found, and broke while it was loaded. */
export class BrokenModule extends Error {
  override readonly name = 'BrokenModule'
}

type Hook = (error?: unknown) => unknown

/** What modules export: tasks, and functions of these names. */
export interface Loaded {
  tasks: Task[]
  /** Names of contracts that were exported beside what their `handler` returned. */
  passedOver: string[]
  onStart: Hook[]
  lastWords: Hook[]
}

/**
 * Imports modules and collects what defineTask made from their exports: each export itself, and the members of arrays
 * and plain objects. A task that is exported under several names counts once. A contract without a handler is passed over where the
 * same modules export its task.
 *
 * @param names paths relative to `folder`, file URLs, or names of packages
 * @throws ConfigError when a module is not there or exports no task, or a contract whose task is not there
 * @throws BrokenModule when it fails while it is loaded
 */
export const loadTasks = async (names: string[], folder: string): Promise<Loaded> => {
  const tasks = new Map<Task, Task>()
  const contracts = new Set<string>()
  const onStart = new Set<Hook>()
  const lastWords = new Set<Hook>()
  for (const name of names) {
    const { address, exported } = await loadModule(name, folder)
    const found = tasksIn(exported)
    const bare = contractsIn(exported)
    for (const contract of bare) contracts.add(contract.name.full)
    if (found.length + bare.length === 0) throw new ConfigError(withoutTasks(name, exported))
    for (const task of found) if (!tasks.has(task)) tasks.set(task, withModule(task, address))
    for (const [hooks, hook] of [
      [onStart, exported.onStart],
      [lastWords, exported.lastWords],
    ] as const)
      if (typeof hook === 'function') hooks.add(hook as Hook)
  }
  const handled = new Set([...tasks.values()].map(task => task.name.full))
  const unhandled = [...contracts].filter(name => !handled.has(name))
  if (unhandled.length > 0) throw new ConfigError(withoutHandler(unhandled))
  return { tasks: [...tasks.values()], passedOver: [...contracts], onStart: [...onStart], lastWords: [...lastWords] }
}

/** Imports one module, named as loadTasks() has it; and throws as that. */
export const loadModule = async (
  name: string,
  folder: string,
): Promise<{ address: string; exported: Record<string, unknown> }> => {
  const address = addressOf(name, folder)
  if (address.startsWith('file:')) await prepareTypeScript(name, folder)
  return { address, exported: await importModule(name, address) }
}

/** Its threads import the same module, if it has threads and no other module was given. */
const withModule = (task: Task, address: string): Task =>
  task.threads === undefined || task.module !== undefined ? task : Object.freeze({ ...task, module: address })

const withoutTasks = (name: string, exported: Record<string, unknown>): string => {
  const kinds = Object.entries(exported).map(([key, value]) => `${key} (${kindOf(value)})`)
  const what = kinds.length === 0 ? 'It exports nothing.' : `It exports ${kinds.join(', ')}.`
  return `${name} exports no task. ${what} Export what defineTask returned.`
}

const kindOf = (value: unknown): string => {
  if (Array.isArray(value)) return 'array'
  return value === null ? 'null' : typeof value
}

const importModule = async (name: string, address: string): Promise<Record<string, unknown>> => {
  try {
    return await orStuck(`${name} did not finish loading: an await at its top level`, () => import(address))
  } catch (error) {
    throw loadError(name, error)
  }
}

const addressOf = (name: string, folder: string): string => {
  const path = resolve(folder, name.startsWith('file:') ? fileURLToPath(name) : name)
  if (existsSync(path)) {
    if (statSync(path).isDirectory()) throw new ConfigError(`${name} is a directory; pass the path of a module in it.`)
    return pathToFileURL(path).href
  }
  if (/^(file:|\.{0,2}[/\\]|[A-Za-z]:\\)/.test(name)) throw new ConfigError(`There is no module ${name} (${path}).`)
  try {
    return pathToFileURL(createRequire(join(folder, 'index.js')).resolve(name)).href
  } catch (error) {
    // A package for import alone is not seen by require's rules; then it is looked for beside pshub itself.
    if ((error as NodeJS.ErrnoException).code === 'ERR_PACKAGE_PATH_NOT_EXPORTED') return name
    throw new ConfigError(`There is no module ${name}: neither the file ${path} nor a package of that name.`)
  }
}

const loadError = (name: string, error: unknown): Error => {
  if (error instanceof ConfigError) return new ConfigError(`${name}: ${error.message}`, { cause: error })
  const { code } = (error ?? {}) as NodeJS.ErrnoException
  const reason = messageOf(error)
  const options = { cause: error }
  if (code === 'ERR_MODULE_NOT_FOUND' && reason.includes(import.meta.filename)) {
    const where = 'It can only be imported, so it must be installed next to pshub'
    return new ConfigError(`The package ${name} could not be found. ${where}; pass the path of its module.`, options)
  }
  if (code === 'ERR_MODULE_NOT_FOUND') return new ConfigError(`${name} could not be loaded: ${reason}.`, options)
  const place = placeOf(error)
  const shown = place === undefined ? reason : `${reason} (${place})`
  if (!(error instanceof SyntaxError)) return new BrokenModule(`${name} failed while loading: ${shown}`, options)
  const hint = place === undefined ? ` To find the place: node --check ${name}` : ''
  return new BrokenModule(`${name} could not be loaded: ${shown}.${hint}`, options)
}

/** The first file and line of the stack that is not ours. */
const placeOf = (error: unknown): string | undefined => {
  const stack = error instanceof Error ? String(error.stack) : ''
  const places = [...stack.matchAll(/file:\/\/[^\s)]+?:\d+/g)].map(([place]) => place)
  return places.find(place => !place.startsWith(import.meta.url))
}
