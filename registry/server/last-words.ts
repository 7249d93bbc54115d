import type { ServerResponse } from 'node:http'
import { HubError } from 'pshub'

/** So long those who read slowly have to read the last of their answers when the service ends. */
const lastWordsMs = 1000

/** Answers that somebody waits for. When the service ends they are told so, before their connections are cut. */
export class OpenAnswers {
  /** Each has a signal of its own: what is made of one that lasts would stay with it. */
  readonly #open = new Map<AbortController, Promise<void>>()
  #stopped: Promise<void> | undefined

  /** Returns what fires when the service ends. */
  add(response: ServerResponse): AbortSignal {
    const stopping = new AbortController()
    const ended = new Promise<void>(resolve => {
      response.once('close', () => {
        this.#open.delete(stopping)
        resolve()
      })
    })
    if (this.#stopped) stopping.abort()
    else if (!response.destroyed) this.#open.set(stopping, ended)
    return stopping.signal
  }

  /** Resolves when all have their answers, or have had the time for it. */
  stop(): Promise<void> {
    this.#stopped ??= this.#stop()
    return this.#stopped
  }

  async #stop(): Promise<void> {
    for (const stopping of this.#open.keys()) stopping.abort()
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<void>(resolve => {
      timer = setTimeout(resolve, lastWordsMs)
    })
    await Promise.race([Promise.all(this.#open.values()), late])
    clearTimeout(timer)
  }
}

/** What a failure is to whoever waits: a run that was given up because the service ends is one that nobody knows the outcome of. */
export const toldOfStop = (thrown: unknown, stopping: AbortSignal | undefined): unknown => {
  if (!stopping?.aborted || !(thrown instanceof HubError) || thrown.code !== 'Aborted') return thrown
  const { task, ran } = thrown
  return new HubError('OutcomeUnknown', 'The registry stopped while this was running.', {
    ran,
    ...(task !== undefined && { task }),
  })
}
