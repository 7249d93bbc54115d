import { monotonicMs } from '../wire/clock.ts'

/** More often nobody sees it. */
const redrawMs = 100
const barWidth = 30

/** One line: how much of something is done. */
export const progressLine = (done: number, total: number): string => {
  const share = total === 0 ? 1 : Math.min(1, done / total)
  const full = Math.floor(share * barWidth)
  const count = String(done).padStart(String(total).length)
  return `[${'#'.repeat(full)}${'.'.repeat(barWidth - full)}] ${String(Math.floor(share * 100)).padStart(3)}%  ${count} of ${total}`
}

/** A line that is redrawn in place, for work that takes a while; on a terminal alone. */
export class Progress {
  readonly #write: ((text: string) => void) | undefined
  readonly #total: number
  #drawnAt = Number.NEGATIVE_INFINITY

  /** @param write undefined where nobody looks */
  constructor(total: number, write: ((text: string) => void) | undefined) {
    this.#total = total
    this.#write = write
  }

  show(done: number): void {
    if (monotonicMs() - this.#drawnAt < redrawMs) return
    this.#drawnAt = monotonicMs()
    this.#write?.(`\r${progressLine(done, this.#total)}`)
  }

  /** Takes the line away, so that what is said next stands alone. */
  end(): void {
    if (this.#drawnAt > Number.NEGATIVE_INFINITY) this.#write?.('\r\u001b[K')
  }
}
