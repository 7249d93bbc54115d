import { monotonicMs } from '../../wire/clock.ts'
import { chunkText, takenMs } from '../../wire/stream.ts'
import type { Chunks } from './yielded.ts'

/** The way of one stream to Redis. */
export interface StreamWay {
  /** Pushes some, until that is done or cannot be; resolves with whether it was. */
  push(texts: readonly string[]): Promise<boolean>
  /** How many chunks its caller says that it has taken; undefined where it says nothing. Rejects when Redis cannot tell. */
  taken(): Promise<number | undefined>
  /** Resolves after `ms`, or when the run is to stop. */
  rest(ms: number): Promise<void>
  readonly isStopped: boolean
}

/** Bytes of chunks that may lie untaken, but for a single one that is larger. */
const maxUntaken = 1_000_000
/** So many are pushed in one write at the most. */
const maxTogether = 128
/** How often a caller that has taken too little is asked: at first, and in the end. */
const firstLookMs = 1
const longestLookMs = 100
/** Without a word of what is taken, its caller is asked for after this long, as long as the stream lives. */
const lookMs = 2000

/**
 * What a run yields, on its way to the list of its caller: numbered from 1, one push at a time, so that they are there in their order. What
 * comes while a push is under way goes together with the next one. No more is taken from the handler than the caller has room for.
 */
export class OpenStream implements Chunks {
  readonly #id: string
  readonly #window: number
  readonly #encode: (value: unknown) => string
  readonly #way: StreamWay
  readonly #onGone: () => void
  count = 0
  #texts: string[] = []
  /** Lengths of those that are untaken, as far as is known; the first one is of chunk `#taken` + 1. */
  #untaken: number[] = []
  #untakenBytes = 0
  #taken = 0
  #pushing: Promise<void> | undefined
  #isBroken = false
  #lookedAt = monotonicMs()
  /** Since when nothing is heard of the caller though Redis can be asked. */
  #silentSince = this.#lookedAt

  /** `encode` throws for what cannot be a chunk. `onGone`: nobody reads it any more. */
  constructor(id: string, window: number, encode: (value: unknown) => string, way: StreamWay, onGone: () => void) {
    this.#id = id
    this.#window = window
    this.#encode = encode
    this.#way = way
    this.#onGone = onGone
  }

  put(value: unknown): void | Promise<void> {
    const text = chunkText(this.#id, this.count + 1, this.#encode(value))
    this.count++
    this.#texts.push(text)
    this.#untaken.push(text.length)
    this.#untakenBytes += text.length
    this.#pushing ??= this.#push()
    if (!this.#hasRoom) return this.#untilRoom()
  }

  async end(returned: unknown): Promise<unknown> {
    await this.#pushing
    return returned
  }

  async fail(): Promise<void> {
    await this.#pushing
  }

  /** Called from time to time: a caller that is gone takes nothing, and tells nobody. */
  look(): void {
    if (monotonicMs() - this.#lookedAt >= lookMs) void this.#look()
  }

  get #hasRoom(): boolean {
    const untaken = this.count - this.#taken
    return untaken === 0 || (untaken < this.#window && this.#untakenBytes < maxUntaken)
  }

  async #push(): Promise<void> {
    while (this.#texts.length > 0 && !this.#isBroken) {
      const texts = this.#nextTexts()
      // Asked for in the same packet, where it will be wanted soon.
      if (this.count - this.#taken >= this.#window / 2) void this.#look()
      this.#isBroken = !(await this.#way.push(texts))
    }
    this.#pushing = undefined
  }

  #nextTexts(): string[] {
    let chars = 0
    let count = 0
    while (count < this.#texts.length && count < maxTogether && (count === 0 || chars < maxUntaken))
      chars += this.#texts[count++]!.length
    return this.#texts.splice(0, count)
  }

  async #untilRoom(): Promise<void> {
    await this.#pushing
    for (
      let waitMs = firstLookMs;
      !this.#hasRoom && !this.#way.isStopped;
      waitMs = Math.min(longestLookMs, waitMs * 2)
    ) {
      await this.#look()
      if (this.#hasRoom) return
      await this.#way.rest(waitMs)
    }
  }

  async #look(): Promise<void> {
    this.#lookedAt = monotonicMs()
    try {
      this.#heard(await this.#way.taken())
    } catch {
      // What Redis has forgotten while it was away is said again soon.
      this.#silentSince = monotonicMs()
    }
  }

  #heard(taken: number | undefined): void {
    const now = monotonicMs()
    if (taken === undefined) {
      if (now - this.#silentSince >= takenMs) this.#onGone()
      return
    }
    this.#silentSince = now
    const more = Math.min(taken, this.count) - this.#taken
    if (more <= 0) return
    for (const length of this.#untaken.splice(0, more)) this.#untakenBytes -= length
    this.#taken += more
  }
}
