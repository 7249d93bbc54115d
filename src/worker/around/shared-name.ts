import { createHash } from 'node:crypto'
import { isTransient } from '../../redis/failures.ts'
import type { TaskRequest } from '../../task/task.ts'
import { ConfigError, messageOf, PutOff } from '../../wire/errors.ts'
import { refuseOptions } from '../../wire/options.ts'

/** Which requests share a lock or a rate. */
export interface Sharing {
  /** Full names of the tasks that it is for. Default all of the worker. */
  tasks?: readonly string[]
  /** Requests with equal texts share; undefined: this request is left alone. Default: all of a task share. */
  // biome-ignore lint/suspicious/noExplicitAny: they are of whatever tasks share it
  key?: (args: any, task: string) => string | number | undefined
  /** For several tasks that share: 1 to 64 letters, digits, and _ . -. Default: each task has its own. */
  name?: string
}

/** Throws ConfigError for options that there are not, or that cannot work. */
export const checkSharing = (of: string, options: Sharing, own: readonly string[]): void => {
  refuseOptions(of, options, new Set(['tasks', 'key', 'name', ...own]))
  const { tasks, key, name } = options
  if (tasks !== undefined && !(Array.isArray(tasks) && tasks.every(task => typeof task === 'string')))
    throw new ConfigError(`${of}: 'tasks' must be an array of full names of tasks, like ['report:1.0'].`)
  if (key !== undefined && typeof key !== 'function')
    throw new ConfigError(`${of}: 'key' must be a function that makes a text of the arguments.`)
  if (name !== undefined && !(typeof name === 'string' && /^[A-Za-z0-9_.-]{1,64}$/.test(name)))
    throw new ConfigError(`${of}: 'name' must be 1 to 64 letters, digits, and _ . -.`)
}

/** Throws ConfigError unless it is a whole number between these. */
export const checkWhole = (of: string, option: string, value: unknown, least: number, most: number): void => {
  if (!(Number.isInteger(value) && (value as number) >= least && (value as number) <= most))
    throw new ConfigError(`${of}: '${option}' must be a whole number from ${least} to ${most}.`)
}

/** Under which name a request shares; undefined: with nobody. Throws what the key function throws. */
export const sharedName = ({ tasks, key, name }: Sharing, { task, args }: TaskRequest): string | undefined => {
  if (tasks && !tasks.includes(task)) return undefined
  const shared = name ?? task
  if (!key) return shared
  const text = key(args, task)
  if (text === undefined) return undefined
  if (typeof text !== 'string' && typeof text !== 'number')
    throw new TypeError(`The key of ${task} must be a string or a number, not ${typeof text}.`)
  // Whatever is in it, and however long it is, it is a part of a key's name.
  return `${shared}#${createHash('sha256').update(String(text)).digest('base64url').slice(0, 22)}`
}

const awayMs = 1000

/** What Redis says; while it is away, nobody knows whether it is the time for a request: it is put off. */
export const asked = async <T>(answer: Promise<T>): Promise<T> => {
  try {
    return await answer
  } catch (error) {
    if (isTransient(error)) throw new PutOff(awayMs, `Redis could not be asked: ${messageOf(error)}`)
    throw error
  }
}
