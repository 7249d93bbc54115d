/** Alternate screen, no cursor, and lines that are too long are cut off instead of wrapped; and the way back. */
const enter = '\u001b[?1049h\u001b[?25l\u001b[?7l'
const leave = '\u001b[?7h\u001b[?25h\u001b[?1049l'
const home = '\u001b[H'
/** Before a line and not behind it: behind a full one it would take the last character away. */
const clearLine = '\u001b[K'
const clearBelow = '\u001b[J'

export interface ScreenEvents {
  /** A key that was pressed, as the character it writes; Ctrl-C is '\u0003'. */
  onKey(key: string): void
  onResize(): void
}

/** The whole terminal, for a view that is redrawn in place. What was on it before is back after close(). */
export class Screen {
  readonly #out = process.stdout
  readonly #in = process.stdin
  readonly #events: ScreenEvents
  #isOpen = false

  constructor(events: ScreenEvents) {
    this.#events = events
  }

  get columns(): number {
    return this.#out.columns || 80
  }

  get rows(): number {
    return this.#out.rows || 24
  }

  open(): void {
    this.#isOpen = true
    this.#out.write(enter)
    this.#out.on('resize', this.#events.onResize)
    // However this process ends, as long as it can do anything: a terminal without cursor and echo is hard to use.
    process.on('exit', this.#restore)
    if (!this.#in.isTTY) return
    this.#in.setRawMode(true)
    this.#in.setEncoding('utf8')
    this.#in.on('data', this.#read)
    this.#in.resume()
  }

  /** Shows these lines from the top; what does not fit is cut off. */
  draw(lines: string[]): void {
    if (!this.#isOpen) return
    const shown = lines.slice(0, this.rows).map(line => `${clearLine}${line}`)
    this.#out.write(`${home}${shown.join('\r\n')}${clearBelow}`)
  }

  close(): void {
    if (!this.#isOpen) return
    this.#restore()
    this.#out.off('resize', this.#events.onResize)
    process.off('exit', this.#restore)
    this.#in.off('data', this.#read)
    this.#in.pause()
  }

  readonly #restore = (): void => {
    if (!this.#isOpen) return
    this.#isOpen = false
    this.#out.write(leave)
    if (this.#in.isTTY) this.#in.setRawMode(false)
  }

  readonly #read = (text: string | Buffer): void => {
    // Arrows and the like come as an escape and some letters, which are no keys of ours.
    if (String(text).startsWith('\u001b')) return
    for (const key of String(text)) this.#events.onKey(key)
  }
}
