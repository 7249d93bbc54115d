import { isTask, type Task } from './task.ts'

/** What defineTask made among a module's exports: each export itself, and the members of arrays and plain objects. */
export const tasksIn = (exported: object): Task[] => Object.values(exported).flatMap(tasksOf)

const tasksOf = (value: unknown): Task[] => {
  if (isTask(value)) return [value]
  if (Array.isArray(value)) return value.filter(isTask)
  return isPlainObject(value) ? Object.values(value).filter(isTask) : []
}

const isPlainObject = (value: unknown): value is object => {
  if (typeof value !== 'object' || value === null) return false
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}
