import { monotonicMs } from '../../wire/clock.ts'
import type { Timed } from '../../wire/deadlines.ts'
import { HubError } from '../../wire/errors.ts'
import { invalid } from '../../wire/payload.ts'
import type { CallPhases } from '../../wire/phases.ts'
import { type Asked, type StreamPart, streamWindow } from '../../wire/stream.ts'
import type { WithPhases } from '../call-options.ts'
import type { Listener } from '../parcel.ts'

/** What a stream needs of its hub. */
export interface StreamHost {
  /** It has taken so many chunks that its worker is to know. */
  onTaken(stream: OpenedStream): void
  /** Nobody waits for its chunks any more. */
  onEnded(stream: OpenedStream): void
  /** Ends a read in time. */
  watch(read: Timed): void
  forget(read: Timed): void
}

/** A stream as its hub sees it. */
export interface OpenedStream {
  /** Of its request; undefined while its task is looked up. */
  readonly id: string | undefined
  /** How many chunks were read. */
  readonly taken: number
}

/** A read that waits. */
class Read<Chunk, Result> implements Timed {
  readonly deadline: number
  readonly resolve: (step: IteratorResult<Chunk, Result>) => void
  readonly reject: (error: HubError) => void
  readonly expire: () => void

  constructor(
    deadline: number,
    resolve: (step: IteratorResult<Chunk, Result>) => void,
    reject: (error: HubError) => void,
    expire: () => void,
  ) {
    this.deadline = deadline
    this.resolve = resolve
    this.reject = reject
    this.expire = expire
  }
}

/**
 * The chunks of a call, in order, each once: read them with `for await`. Leaving the loop cancels the call; a failed
 * call throws its HubError after the chunks that arrived before it. The value of the last step, `{ done: true, value
 * }`, is the return value of the handler.
 */
export class HubStream<Chunk = unknown, Result = unknown>
  implements AsyncIterator<Chunk, Result, undefined>, OpenedStream, Listener
{
  readonly asked: Asked
  readonly #task: string
  readonly #host: StreamHost
  readonly #idleMs: number | undefined
  readonly #onProgress: ((part: StreamPart) => void) | undefined
  readonly #stop: (reason: HubError) => void
  id: string | undefined
  taken = 0
  /**
   * Set at the end: the time of each part of the wait; undefined if no worker reported it. `exec` includes the time the
   * handler waited for the reader.
   */
  phases: CallPhases | undefined
  /** Chunks that came and were not read yet; the first one is at `#head`. */
  #chunks: Chunk[] = []
  #head = 0
  #came = 0
  #saidTaken = 0
  #reads: Read<Chunk, Result>[] = []
  #end: { result: Result } | { error: HubError } | undefined
  #isTold = false

  /** `stop` ends its call. @internal */
  constructor(
    task: string,
    host: StreamHost,
    options: { idleMs?: number | undefined; onProgress?: ((part: StreamPart) => void) | undefined },
    stop: (reason: HubError) => void,
  ) {
    this.#task = task
    this.#host = host
    this.#idleMs = options.idleMs
    this.#onProgress = options.onProgress
    this.asked = { window: streamWindow, progress: options.onProgress !== undefined }
    this.#stop = stop
  }

  /** Returns itself: chunks that were read are not read again. */
  [Symbol.asyncIterator](): this {
    return this
  }

  /** The next chunk, or the end. Rejects once with the HubError of a failed call, then stays at the end. */
  next(): Promise<IteratorResult<Chunk, Result>> {
    if (this.#head < this.#chunks.length) return Promise.resolve({ done: false, value: this.#take() })
    if (this.#end) return this.#told(this.#end)
    return new Promise((resolve, reject) => {
      const deadline = this.#idleMs === undefined ? Number.POSITIVE_INFINITY : monotonicMs() + this.#idleMs
      const read = new Read<Chunk, Result>(deadline, resolve, reject, () => this.#expire())
      this.#reads.push(read)
      if (this.#idleMs !== undefined) this.#host.watch(read)
    })
  }

  /** Cancels the stream: the abort signal of its handler fires. */
  async return(): Promise<IteratorResult<Chunk, Result>> {
    this.#fail(
      new HubError('Aborted', `The caller stopped reading ${this.#task}.`, { task: this.#task, ...this.#known }),
    )
    this.#chunks = []
    this.#head = 0
    this.#isTold = true
    return { done: true, value: undefined as Result }
  }

  /** Its worker is told from now on that somebody reads, also where the first chunk takes long. @internal */
  onTry(id: string): void {
    this.id = id
  }

  /** Something came before the reply. @internal */
  onPart(part: StreamPart): void {
    if (this.#end) return
    if ('progress' in part) {
      this.#postpone()
      this.#onProgress?.(part)
      return
    }
    // A push whose answer was lost was repeated.
    if (part.chunk <= this.#came) return
    if (part.chunk !== this.#came + 1) {
      this.#fail(this.#gap(this.#came + 1))
      return
    }
    if (part.problem) {
      this.#fail(invalid('InvalidResult', [part.problem], { task: this.#task, ...this.#known }))
      return
    }
    this.#came++
    const chunk = part.value as Chunk
    const read = this.#reads.shift()
    if (!read) {
      this.#chunks.push(chunk)
      return
    }
    this.#done(read)
    this.#count()
    read.resolve({ done: false, value: chunk })
    this.#postpone()
  }

  /** Its reply came, which tells how many `chunks` came before it. @internal */
  onResult({ result, phases }: WithPhases, chunks: number | undefined): void {
    this.phases = phases
    if (chunks !== undefined && chunks !== this.#came) this.#settle({ error: this.#gap(this.#came + 1) })
    else this.#settle({ result: result as Result })
  }

  /** Its call has failed. @internal */
  onFailed(error: HubError): void {
    this.phases = error.phases
    this.#settle({ error })
  }

  get #known(): { id?: string } {
    return this.id === undefined ? {} : { id: this.id }
  }

  #take(): Chunk {
    const chunk = this.#chunks[this.#head]!
    this.#head++
    if (this.#head === this.#chunks.length) {
      this.#chunks = []
      this.#head = 0
    }
    this.#count()
    return chunk
  }

  #count(): void {
    this.taken++
    if (this.#end || this.taken - this.#saidTaken < streamWindow / 2) return
    this.#saidTaken = this.taken
    this.#host.onTaken(this)
  }

  /** A read that waits has heard something: it waits for as long again. */
  #postpone(): void {
    if (this.#idleMs === undefined || this.#reads.length === 0) return
    const deadline = monotonicMs() + this.#idleMs
    this.#reads = this.#reads.map(read => {
      this.#host.forget(read)
      const next = new Read(deadline, read.resolve, read.reject, read.expire)
      this.#host.watch(next)
      return next
    })
  }

  #expire(): void {
    const message = `${this.#task} sent no chunk for ${this.#idleMs} ms after ${this.#came} chunks.`
    this.#fail(new HubError('Timeout', message, { task: this.#task, ...this.#known }))
  }

  #gap(chunk: number): HubError {
    const message = `Chunk ${chunk} of ${this.#task} was lost: Redis no longer has it. All chunks before it arrived.`
    return new HubError('OutcomeUnknown', message, { task: this.#task, ...this.#known })
  }

  #fail(error: HubError): void {
    if (this.#end) return
    this.#settle({ error })
    this.#stop(error)
  }

  #settle(end: { result: Result } | { error: HubError }): void {
    if (this.#end) return
    this.#end = end
    this.#host.onEnded(this)
    for (const read of this.#reads.splice(0)) {
      this.#done(read)
      this.#told(end).then(read.resolve, read.reject)
    }
  }

  #done(read: Read<Chunk, Result>): void {
    if (this.#idleMs !== undefined) this.#host.forget(read)
  }

  /** An error is told once, and a result: behind it there is nothing. */
  #told(end: { result: Result } | { error: HubError }): Promise<IteratorResult<Chunk, Result>> {
    if (this.#isTold) return Promise.resolve({ done: true, value: undefined as Result })
    this.#isTold = true
    return 'error' in end ? Promise.reject(end.error) : Promise.resolve({ done: true, value: end.result })
  }
}
