import type { Progress } from 'pshub'

/** As it goes to a client: `progress` grows with each. */
export interface ToldProgress {
  progress: number
  total?: number
  message?: string
}

/** More often nobody sees it. */
const everyMs = 250
/** A chunk is shown with so many characters of it. */
const longestMessage = 200

/** Half a character, as a cut leaves it, makes a message that many a client cannot read. */
const whole = (text: string): string => text.replace(/\p{Surrogate}$/u, '').replace(/\p{Surrogate}/gu, '\ufffd')

/**
 * Tells one client how far its run is, four times a second at the most and the latest then: as the handler says it, or by how many chunks have
 * come where it says nothing.
 */
export class ToolProgress {
  readonly #send: (progress: ToldProgress) => Promise<void>
  #told = Number.NEGATIVE_INFINITY
  #sentAt = Number.NEGATIVE_INFINITY
  #latest: ToldProgress | undefined
  #timer: NodeJS.Timeout | undefined
  #sending: Promise<void> = Promise.resolve()
  #isSaid = false

  /** `send` may reject: who has gone hears nothing. */
  constructor(send: (progress: ToldProgress) => Promise<void>) {
    this.#send = send
  }

  readonly onProgress = ({ done, total, message }: Progress): void => {
    this.#isSaid = true
    this.#note({
      progress: done,
      ...(total !== undefined && { total }),
      ...(message !== undefined && { message: whole(message) }),
    })
  }

  /** A chunk has come, as JSON, which makes so many. Resolves when the client can be told more. */
  async onChunk(count: number, value: unknown, text: string): Promise<void> {
    const message = typeof value === 'string' ? value : text
    if (!this.#isSaid) this.#note({ progress: count, message: whole(message.slice(0, longestMessage)) })
    await this.#sending
  }

  /** Its result says more. */
  end(): void {
    clearTimeout(this.#timer)
    this.#latest = undefined
  }

  #note(latest: ToldProgress): void {
    // The protocol has no way to go back.
    if (latest.progress <= this.#told) return
    this.#latest = latest
    const waitMs = this.#sentAt + everyMs - performance.now()
    if (waitMs <= 0) this.#tell()
    else this.#timer ??= setTimeout(() => this.#tell(), waitMs)
  }

  #tell(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const latest = this.#latest
    if (!latest) return
    this.#latest = undefined
    this.#told = latest.progress
    this.#sentAt = performance.now()
    this.#sending = this.#send(latest).catch(() => undefined)
  }
}
