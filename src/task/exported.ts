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
