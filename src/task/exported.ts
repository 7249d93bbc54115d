import { ConfigError } from '../wire/errors.ts'
import { withoutHandler } from './options.ts'
import { type Contract, isContract, isTask, type Task } from './task.ts'

/** What defineTask made among a module's exports: each export itself, and the members of arrays and plain objects. */
export const tasksIn = (exported: object): Task[] => membersOf(exported).filter(isTask)

/** The same for those without a handler. */
export const contractsIn = (exported: object): Contract[] => membersOf(exported).filter(isContract)

const membersOf = (exported: object): unknown[] => Object.values(exported).flatMap(valuesOf)

const valuesOf = (value: unknown): unknown[] => {
  if (isTask(value) || isContract(value)) return [value]
  if (Array.isArray(value)) return value
  return isPlainObject(value) ? Object.values(value) : []
}

const isPlainObject = (value: unknown): value is object => {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

/** The tasks of a worker by name. Throws ConfigError for anything defineTask did not make, and for a task given twice. */
export const checkTasks = (tasks: unknown): ReadonlyMap<string, Task> => {
  if (!Array.isArray(tasks) || tasks.length === 0)
    throw new ConfigError("A worker needs 'tasks': an array of what defineTask returned.")
  const byName = new Map<string, Task>()
  for (const task of tasks) {
    if (isContract(task)) throw new ConfigError(withoutHandler([task.name.full]))
    if (!isTask(task)) throw new ConfigError("'tasks' holds something that defineTask did not return.")
    if (byName.has(task.name.full)) throw new ConfigError(`The task ${task.name.full} is listed twice.`)
    byName.set(task.name.full, task)
  }
  return byName
}
