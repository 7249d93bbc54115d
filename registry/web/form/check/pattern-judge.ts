import type { Matches } from '../../../schema/refs.ts'
import { startCheckWorker } from './trusted.ts'
import type { Answer } from './worker.ts'

/** One match is given this long. */
const limitMs = 400
/** A pattern that took longer so often is not run again. */
const maxLate = 3
/** Longer texts are left to the checks. */
const maxText = 256
/** Answers that are kept; beyond, all are forgotten and asked for anew. */
const maxAnswers = 5_000

/**
 * Says whether texts match the patterns of one schema. It asks a worker, which is ended when a pattern runs away, so that no
 * pattern ever runs in the page: an answer is there some time after the first question, and `onAnswers` tells of it.
 */
export class PatternJudge {
  readonly #onAnswers: () => void
  readonly #answers = new Map<string, boolean | undefined>()
  readonly #late = new Map<string, number>()
  #open: [string, string][] = []
  /** Those that the worker has, the one that it is at first. */
  #asked: [string, string][] = []
  #worker: Worker | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #isBroken = false

  constructor(onAnswers: () => void) {
    this.#onAnswers = onAnswers
  }

  readonly matches: Matches = (pattern, text) => {
    if (text.length > maxText || this.#isWild(pattern) || this.#isBroken) return undefined
    const name = nameOf(pattern, text)
    if (this.#answers.has(name)) return this.#answers.get(name)
    if (this.#answers.size >= maxAnswers) this.#answers.clear()
    this.#answers.set(name, undefined)
    this.#open.push([pattern, text])
    if (this.#open.length === 1) queueMicrotask(() => this.#ask())
    return undefined
  }

  close(): void {
    this.#open = []
    this.#stop()
    // Where it is drawn once more, the questions are asked once more.
    this.#answers.clear()
  }

  #isWild(pattern: string): boolean {
    return (this.#late.get(pattern) ?? 0) >= maxLate
  }

  #ask(): void {
    if (this.#asked.length > 0 || this.#open.length === 0) return
    this.#asked = this.#open.filter(([pattern]) => !this.#isWild(pattern))
    this.#open = []
    if (this.#asked.length === 0 || !this.#hasWorker()) return
    this.#worker!.postMessage({ matches: this.#asked })
  }

  #hasWorker(): boolean {
    if (this.#worker) {
      this.#wait()
      return true
    }
    try {
      this.#worker = startCheckWorker()
      this.#worker.onmessage = ({ data }: MessageEvent<Answer>) => this.#hear(data)
      this.#worker.onerror = () => this.#break()
      return true
    } catch {
      this.#break()
      return false
    }
  }

  /** The time of the first match begins when the worker says that it has the questions: it may be loading still. */
  #wait(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#tooLong(), limitMs)
  }

  #hear(answer: Answer): void {
    if (!('matches' in answer)) return
    if (answer.matches === 'begun') {
      this.#wait()
      return
    }
    const [pattern, text] = this.#asked.shift()!
    this.#answers.set(nameOf(pattern, text), answer.matches ?? undefined)
    if (this.#asked.length > 0) {
      this.#wait()
      return
    }
    clearTimeout(this.#timer)
    this.#onAnswers()
    this.#ask()
  }

  #tooLong(): void {
    const [late, ...rest] = this.#asked
    if (late) this.#late.set(late[0], (this.#late.get(late[0]) ?? 0) + 1)
    this.#open = [...rest, ...this.#open]
    this.#stop()
    this.#onAnswers()
    this.#ask()
  }

  #break(): void {
    this.#isBroken = true
    this.#stop()
  }

  #stop(): void {
    clearTimeout(this.#timer)
    this.#worker?.terminate()
    this.#worker = undefined
    this.#asked = []
  }
}

const nameOf = (pattern: string, text: string): string => `${pattern.length} ${pattern}${text}`
