import { Writable } from 'node:stream'
import { backoffMs, monotonicMs, within } from '../../wire/clock.ts'
import type { Wire } from './wire.ts'

/** Bytes that wait for a name to be found, or for a daemon that does not read. */
const maxQueuedBytes = 1024 * 1024
/** Wait before a stream that was lost is opened anew: from the first up to the second. */
const reopenFirstMs = 500
const reopenMostMs = 5000
/** An outage is over after so many texts, and so long, without an error: with UDP every other one seems to arrive. */
const calmSends = 20
const calmMs = 10_000
/** How long the last metrics may take to leave. */
const closeMs = 500

/**
 * The stream that hot-shots writes to: what it is given is sent or dropped, and never kept for long. A daemon that is
 * away costs one report per outage and one try to reach it now and then.
 */
export class Outlet extends Writable {
  readonly #wire: Wire
  readonly #report: (reason: string) => void
  #daemon: Writable | undefined
  #openedAt = 0
  #notBefore = Number.NEGATIVE_INFINITY
  #losses = 0
  #isOut = false
  #errorAt = 0
  #calm = 0

  /** `report` is told once per outage why nothing arrives. */
  constructor(wire: Wire, report: (reason: string) => void) {
    super({ decodeStrings: false })
    this.#wire = wire
    this.#report = report
  }

  override _write(text: string, _encoding: BufferEncoding, written: () => void): void {
    const daemon = this.#daemonNow()
    if (daemon && daemon.writableLength + text.length > maxQueuedBytes) this.#failed(new Error('it does not read'))
    else daemon?.write(text, error => error ?? this.#sent())
    // Nobody shall wait for a daemon.
    written()
  }

  override _destroy(_error: Error | null, done: () => void): void {
    const daemon = this.#daemon
    this.#daemon = undefined
    const end = daemon ? within(new Promise(resolve => daemon.end(resolve)), closeMs) : Promise.resolve()
    void end.then(() => {
      daemon?.destroy()
      done()
    })
  }

  #daemonNow(): Writable | undefined {
    const now = monotonicMs()
    if (this.#daemon && now - this.#openedAt > this.#wire.lifeMs) {
      this.#daemon.end()
      this.#daemon = undefined
    }
    if (!this.#daemon && now >= this.#notBefore) {
      const opened = this.#wire.open(error => this.#failed(error))
      opened.on('error', error => this.#lost(opened, error))
      opened.on('close', () => this.#lost(opened, new Error('it closed the connection')))
      this.#daemon = opened
      this.#openedAt = now
    }
    return this.#daemon
  }

  #lost(daemon: Writable, error: Error): void {
    if (daemon !== this.#daemon) return
    this.#daemon = undefined
    this.#notBefore = monotonicMs() + backoffMs(this.#losses++, reopenFirstMs, reopenMostMs)
    this.#failed(error)
  }

  #sent(): void {
    if (this.#isOut && ++this.#calm >= calmSends && monotonicMs() - this.#errorAt >= calmMs) {
      this.#isOut = false
      this.#losses = 0
    }
  }

  #failed(error: Error): void {
    this.#errorAt = monotonicMs()
    this.#calm = 0
    if (this.#isOut || this.destroyed) return
    this.#isOut = true
    this.#report(error.message)
  }
}
