import type { Problem } from 'pshub'
import { startCheckWorker } from './trusted.ts'
import type { Answer } from './worker.ts'

export interface Verdict {
  readonly problems: readonly Problem[]
  /** Why the value was not, or not fully, checked here; undefined: it was. */
  readonly unchecked: string | undefined
}

/** A foreign pattern may run for ever, so a check is given this long, and once more in a fresh worker. */
const limitsMs = [400, 1_200]

/**
 * Checks values against one schema in a worker, one at a time and always the newest. `onVerdict` is told of a value's verdict
 * unless a newer value was given meanwhile.
 */
export class Checker {
  readonly #schema: unknown
  readonly #onVerdict: (verdict: Verdict) => void
  #worker: Worker | undefined
  #ready = false
  #timer: ReturnType<typeof setTimeout> | undefined
  #id = 0
  #tries = 0
  #waiting: { value: unknown; chosen: [string, number][] } | undefined
  #busy: { value: unknown; chosen: [string, number][] } | undefined

  constructor(schema: unknown, onVerdict: (verdict: Verdict) => void) {
    this.#schema = schema
    this.#onVerdict = onVerdict
  }

  check(value: unknown, chosen: [string, number][]): void {
    this.#waiting = { value, chosen }
    this.#tries = 0
    this.#next()
  }

  close(): void {
    this.#waiting = undefined
    this.#stop()
  }

  #next(): void {
    if (this.#busy || !this.#waiting) return
    if (!this.#worker && !this.#start()) return
    if (!this.#ready) return
    this.#busy = this.#waiting
    this.#waiting = undefined
    this.#timer = setTimeout(() => this.#tooLong(), limitsMs[this.#tries])
    this.#worker!.postMessage({ id: ++this.#id, ...this.#busy })
  }

  #start(): boolean {
    try {
      this.#worker = startCheckWorker()
      this.#worker.onmessage = ({ data }: MessageEvent<Answer>) => this.#hear(data)
      this.#worker.onerror = () => this.#fail('the checks could not be loaded')
      this.#worker.postMessage({ schema: this.#schema })
      return true
    } catch {
      this.#fail('this browser does not allow it')
      return false
    }
  }

  #hear(answer: Answer): void {
    if ('ready' in answer) {
      this.#ready = true
      this.#next()
    } else if ('id' in answer && answer.id === this.#id) {
      clearTimeout(this.#timer)
      this.#busy = undefined
      if (!this.#waiting) this.#onVerdict({ problems: answer.problems, unchecked: answer.unchecked })
      this.#next()
    }
  }

  #tooLong(): void {
    const late = this.#busy
    this.#stop()
    if (!this.#waiting && ++this.#tries < limitsMs.length) this.#waiting = late
    else if (!this.#waiting) this.#onVerdict({ problems: [], unchecked: 'it took too long' })
    this.#next()
  }

  #fail(unchecked: string): void {
    this.#stop()
    this.#waiting = undefined
    this.#onVerdict({ problems: [], unchecked })
  }

  #stop(): void {
    clearTimeout(this.#timer)
    this.#worker?.terminate()
    this.#worker = undefined
    this.#ready = false
    this.#busy = undefined
  }
}
