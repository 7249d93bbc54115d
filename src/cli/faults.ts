import type { Logger } from '../outlets/log.ts'
import { messageOf } from '../wire/errors.ts'
import { speak } from '../worker/hooks.ts'

/**
 * Faults of tasks that nothing catches. A rejection of a promise nobody awaits concerns that one task: it is logged,
 * and everything else goes on. An exception that nothing caught may have left anything half done: it is logged, and
 * `onFatal` ends the process in an orderly way. `lastWords` is told of both, and waited for before that. Returns the end of it.
 */
export const watchFaults = (
  log: Logger,
  onFatal: () => void,
  lastWords: (error: unknown) => Promise<void>,
): (() => void) => {
  const onRejection = (reason: unknown) => {
    log.error(described(reason), 'unhandled promise rejection; continuing')
    void lastWords(reason)
  }
  const onException = (error: unknown) => {
    log.error(described(error), 'uncaught exception; stopping')
    void lastWords(error).then(onFatal)
  }
  process.on('unhandledRejection', onRejection)
  process.on('uncaughtException', onException)
  return () => {
    process.off('unhandledRejection', onRejection)
    process.off('uncaughtException', onException)
  }
}

/** With the stack: without it nobody finds the place in the task's code. */
const described = (thrown: unknown): { reason: string; stack?: string } => ({
  reason: messageOf(thrown),
  ...(thrown instanceof Error && thrown.stack ? { stack: thrown.stack } : {}),
})

/** Each of those that modules export is told, and has so long as all of them. */
export const lastWordsOf =
  (hooks: () => readonly ((error: unknown) => unknown)[]) =>
  async (error: unknown): Promise<void> => {
    await Promise.all(hooks().map(hook => speak(hook, error)))
  }
