import type { Request } from '../wire/message.ts'
import { defineTask, type Task, type TaskContext, type TaskOptions } from './task.ts'

/** No task that is declared has such a name. */
const anyName = '*'

/** What is given requests of whatever task, as they are. */
export type AnyHandler = (request: Request, context: TaskContext) => unknown

/** For a worker that runs whatever its queue has. It is declared nowhere, so nobody finds it in the registry. */
export const anyTask = (options: TaskOptions<undefined, undefined, undefined>, handler: AnyHandler): Task => {
  const name = { full: anyName, name: anyName, major: 0, minor: 0 }
  return Object.freeze({ ...(defineTask('any:0.0', options, handler as never) as Task), name })
}

export const isDeclared = ({ name }: Task): boolean => name.full !== anyName

/** Which of a worker's tasks runs requests of that name, if one does. */
export const taskFor = <T>(tasks: ReadonlyMap<string, T>, name: string): T | undefined =>
  tasks.get(name) ?? tasks.get(anyName)

/** What the handler of a task is given for a request. */
export const givenTo = (task: Task, request: Request): unknown => (isDeclared(task) ? request.args : request)
