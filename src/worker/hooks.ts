import { monotonicMs, sleep } from '../wire/clock.ts'
import { ConfigError, messageOf } from '../wire/errors.ts'

/** Hooks of the worker process. */
export interface WorkerHooks {
  /** Awaited before the first task runs, once per process. If it fails, start() rejects with a StartFailed and nothing is served. */
  onStart?: (() => unknown) | undefined
  /**
   * Receives an error outside of any task: an uncaught exception, or an unhandled rejection. Its promise is awaited for
   * at most two seconds; then the process exits with the error.
   */
  lastWords?: ((error: unknown) => unknown) | undefined
}

/** onStart() of a worker failed; `cause` is the error. */
export class StartFailed extends Error {
  override readonly name = 'StartFailed'

  constructor(cause: unknown) {
    super(`onStart failed, so the worker serves nothing: ${messageOf(cause)}`, { cause })
  }
}

/** The hooks of one worker. */
export class Hooks {
  readonly #hooks: WorkerHooks
  #endWatch: (() => void) | undefined

  /** @throws ConfigError */
  constructor(hooks: WorkerHooks) {
    for (const [name, hook] of Object.entries(hooks))
      if (hook !== undefined && typeof hook !== 'function') throw new ConfigError(`'${name}' must be a function.`)
    this.#hooks = hooks
  }

  /** @throws StartFailed; then it may be tried again */
  async start(): Promise<void> {
    const { onStart } = this.#hooks
    if (onStart) await runOnce(onStart)
  }

  /** From now on lastWords() is called for what would end this process. */
  watch(): void {
    const { lastWords } = this.#hooks
    if (lastWords) this.#endWatch = watchLastWords(lastWords)
  }

  stop(): void {
    this.#endWatch?.()
  }
}

const started = new WeakMap<() => unknown, Promise<void>>()

const runOnce = (onStart: () => unknown): Promise<void> => {
  let run = started.get(onStart)
  if (!run) {
    run = start(onStart)
    started.set(onStart, run)
    run.catch(() => started.delete(onStart))
  }
  return run
}

const start = async (onStart: () => unknown): Promise<void> => {
  try {
    await onStart()
  } catch (error) {
    throw new StartFailed(error)
  }
}

const lastWordsMs = 2000

/** Lets somebody speak, for so long at the most. Never rejects. */
export const speak = async (lastWords: (error: unknown) => unknown, error: unknown): Promise<void> => {
  const spoken = (async () => lastWords(error))().catch(() => undefined)
  await Promise.race([spoken, sleep(lastWordsMs)])
}

/** Has it called for what would end this process. Returns the end of that. */
const watchLastWords = (lastWords: (error: unknown) => unknown): (() => void) => {
  let since: number | undefined
  const onError = (error: unknown) => {
    // A second error while it speaks is not waited for.
    if (since !== undefined && monotonicMs() - since < lastWordsMs) return
    since = monotonicMs()
    void speak(lastWords, error).then(() => {
      process.off('uncaughtException', onError)
      // Who else listens has taken over what becomes of the process.
      if (process.listenerCount('uncaughtException') > 0) return
      setImmediate(() => {
        throw error
      })
    })
  }
  // Rejections that nobody awaits come as these, too, unless somebody listens for them.
  process.on('uncaughtException', onError)
  return () => process.off('uncaughtException', onError)
}
