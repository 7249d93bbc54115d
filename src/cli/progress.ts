import { monotonicMs } from '../wire/clock.ts'
import type { Progress as Told } from '../wire/stream.ts'
import { printable } from './printable.ts'

/** More often nobody sees it. */
const redrawMs = 100
const barWidth = 30

/** One line: how much of something is done. */
const progressLine = (done: number, total: number): string => {
  const share = total === 0 ? 1 : Math.min(1, done / total)
  const full = Math.floor(share * barWidth)
  const count = String(done).padStart(String(total).length)
  return `[${'#'.repeat(full)}${'.'.repeat(barWidth - full)}] ${String(Math.floor(share * 100)).padStart(3)}%  ${count} of ${total}`
}

/** The same of what a handler told, as far as it did. */
export const toldLine = ({ done, total, message }: Told): string => {
  const figures = total === undefined ? `${done} done` : progressLine(done, total)
  return message === undefined ? figures : `${figures}  ${printable(message).slice(0, maxMessage)}`
}

const maxMessage = 60

/** A line that is redrawn in place; on a terminal alone. */
class RedrawnLine {
  readonly #write: ((text: string) => void) | undefined
  #drawnAt = Number.NEGATIVE_INFINITY

  /** @param write undefined where nobody looks */
  constructor(write: ((text: string) => void) | undefined) {
    this.#write = write
  }

  show(line: () => string): void {
    if (monotonicMs() - this.#drawnAt < redrawMs) return
    this.#drawnAt = monotonicMs()
    this.#write?.(`\r${line()}`)
  }

  /** Takes the line away, so that what is said next stands alone. */
  end(): void {
    if (this.#drawnAt > Number.NEGATIVE_INFINITY) this.#write?.('\r\u001b[K')
    this.#drawnAt = Number.NEGATIVE_INFINITY
  }
}

/** How far a handler says that it is, of what somebody waits for; on stderr, where that is a terminal. */
export class ToldProgress {
  readonly #line: RedrawnLine
  #told: Told | undefined

  /** @param write undefined where nobody looks */
  constructor(write: ((text: string) => void) | undefined) {
    this.#line = new RedrawnLine(write)
  }

  show(told: Told): void {
    this.#told = told
    this.#draw(told)
  }

  /** Takes the line away while something is written to the same terminal. */
  above(write: () => void): void {
    this.#line.end()
    write()
    if (this.#told) this.#draw(this.#told)
  }

  end(): void {
    this.#line.end()
  }

  #draw(told: Told): void {
    this.#line.show(() => `${toldLine(told)}\u001b[K`)
  }
}

/** How much of work is done that takes a while. */
export class Progress {
  readonly #line: RedrawnLine
  readonly #total: number

  /** @param write undefined where nobody looks */
  constructor(total: number, write: ((text: string) => void) | undefined) {
    this.#total = total
    this.#line = new RedrawnLine(write)
  }

  show(done: number): void {
    this.#line.show(() => progressLine(done, this.#total))
  }

  end(): void {
    this.#line.end()
  }
}
