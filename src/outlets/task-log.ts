import type { TaskLog } from '../task/task.ts'
import type { Logger } from './log.ts'

/** The log a handler sees: each line carries its task and request id. */
export const taskLog = (logger: Logger, task: string, id: string): TaskLog => {
  const child = logger.child({ task, id })
  return {
    debug: (message, fields = {}) => child.debug(fields, message),
    info: (message, fields = {}) => child.info(fields, message),
    warn: (message, fields = {}) => child.warn(fields, message),
    error: (message, fields = {}) => child.error(fields, message),
  }
}
