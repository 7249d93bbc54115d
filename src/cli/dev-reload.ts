import { unwatchFile, watchFile } from 'node:fs'
import { type Part, type PartMessage, startPart } from './dev-parts.ts'

/** How often the files are looked at: that notices a change on any file system, and in any editor's way of writing. */
const lookMs = 200
/** An editor that writes several files has so long for them. */
const settleMs = 50
/** A worker that died is followed by another one after so long. */
const restartMs = 1000
/** What runs with the old code may take that long. */
const drainMs = 60 * 60_000

export interface ReloadOptions {
  /** Files that are watched from the start on, whether they are there or not. */
  files: string[]
  env: Record<string, string>
  /** A worker serves, for the first time or in the place of the one before, which takes no more. */
  onServing(tasks: string[], isReload: boolean): void
  /** The modules do not load; undefined: they do again. */
  onBroken(message: string | undefined, isServing: boolean): void
  onDied(how: number | string): void
}

/** Keeps a worker of what the files say: a new one is serving before the one before takes no more, so that calls always find one. */
export class Reload {
  readonly #options: ReloadOptions
  readonly #watched = new Set<string>()
  readonly #parts = new Set<Part>()
  #serving: Part | undefined
  #coming: Part | undefined
  #timer: NodeJS.Timeout | undefined
  #isEnding = false

  constructor(options: ReloadOptions) {
    this.#options = options
    this.#watch(options.files)
    this.#start()
  }

  /** Stops all of them, and resolves when none is left. */
  async end(graceMs: number): Promise<void> {
    this.#isEnding = true
    clearTimeout(this.#timer)
    for (const file of this.#watched) unwatchFile(file)
    for (const part of this.#parts) part.stop(graceMs)
    await Promise.all([...this.#parts].map(({ ended }) => ended))
  }

  #watch(files: string[]): void {
    if (this.#isEnding) return
    for (const file of files) {
      if (this.#watched.has(file)) continue
      this.#watched.add(file)
      watchFile(file, { interval: lookMs }, (now, before) => {
        // What was only read is no change.
        if (now.mtimeMs !== before.mtimeMs || now.size !== before.size || now.ino !== before.ino) this.#later(settleMs)
      })
    }
  }

  #later(ms: number): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => this.#start(), ms)
  }

  #start(): void {
    if (this.#isEnding) return
    // What it has loaded is old already, and it has taken no call.
    this.#coming?.kill()
    let reason: string | undefined
    const part = startPart('worker', this.#options.env, message => {
      if (message.kind === 'failed') reason = message.message
      this.#take(part, message)
    })
    this.#coming = part
    this.#parts.add(part)
    void part.ended.then(how => this.#onEnded(part, how, reason))
  }

  #take(part: Part, message: PartMessage): void {
    if (message.kind === 'files') this.#watch(message.files)
    if (message.kind !== 'serving' || part !== this.#coming) return
    const before = this.#serving
    this.#serving = part
    this.#coming = undefined
    this.#options.onBroken(undefined, true)
    const told = () => this.#options.onServing(message.tasks, before !== undefined)
    if (before === undefined) {
      told()
      return
    }
    // Only then is the next call sure to have the new code.
    const once = onlyOnce(told)
    before.child.on('message', (each: PartMessage) => each.kind === 'stopping' && once())
    void before.ended.then(once)
    before.stop(drainMs)
  }

  #onEnded(part: Part, how: number | string, reason: string | undefined): void {
    this.#parts.delete(part)
    if (this.#isEnding) return
    if (part === this.#coming) {
      this.#coming = undefined
      const message = reason ?? `the process ended while it loaded (${how}); its output is in the terminal`
      this.#options.onBroken(message, this.#serving !== undefined)
    } else if (part === this.#serving) {
      this.#serving = undefined
      this.#options.onDied(how)
      if (this.#coming === undefined) this.#later(restartMs)
    }
  }
}

const onlyOnce = (act: () => void): (() => void) => {
  let isDone = false
  return () => {
    if (isDone) return
    isDone = true
    act()
  }
}
