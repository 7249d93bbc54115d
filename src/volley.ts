import { deliver, type Expected, type Redis } from './client.ts'

/** Text as Redis' protocol carries it. */
const bulk = (text: string): string => `$${Buffer.byteLength(text)}\r\n${text}\r\n`

/** Nothing but ASCII. */
const bulkNumber = (value: number): string => {
  const text = String(value)
  return `$${text.length}\r\n${text}\r\n`
}

type Args = readonly (string | number)[]
const none: readonly string[] = []

/**
 * The beginning of a command that is sent with each call, encoded once: its name, and those of its arguments that are always the
 * same. Encoding all of them anew each time took a lone call 10 us in the hub and as much in the worker.
 */
export class Preset {
  readonly name: string
  readonly #count: number
  readonly #text: string

  /** @param name in lower case */
  constructor(name: string, ...args: (string | number)[]) {
    this.name = name
    this.#count = args.length + 1
    this.#text = [name, ...args].map(arg => bulk(String(arg))).join('')
  }

  /** The whole command with further arguments. */
  encoded(args: Args): string {
    let text = `*${this.#count + args.length}\r\n${this.#text}`
    for (const arg of args) text += typeof arg === 'string' ? bulk(arg) : bulkNumber(arg)
    return text
  }

  /** Sends the command with further arguments. */
  send(client: Redis, args: Args = none): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const onAnswer = (answer: unknown) => resolve(textsOf(answer))
      deliver(client, { name: this.name, args: none, resolve: onAnswer, reject }, this.encoded(args))
    })
  }
}

/**
 * Commands that are sent one after another, with one promise for all answers: a lone call, which finds no processor cache warm,
 * notices each promise on its way.
 */
export class Volley {
  /**
   * Resolves with the answers of all, in their order; what Redis refused is an Error among them. Rejects when the connection
   * broke. To be waited for in the tick in which the commands are added.
   */
  readonly answers: Promise<unknown[]>
  readonly #client: Redis
  readonly #answers: unknown[] = []
  #open = 0
  #resolve!: (answers: unknown[]) => void
  #reject!: (error: Error) => void

  constructor(client: Redis) {
    this.#client = client
    this.answers = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  add(preset: Preset, args: Args = none): this {
    deliver(this.#client, new Part(preset.name, this, this.#open++), preset.encoded(args))
    return this
  }

  /** Redis answered the command at this place. */
  answered(place: number, answer: unknown): void {
    this.#answers[place] = answer
    if (--this.#open === 0) this.#resolve(this.#answers)
  }

  broken(error: Error): void {
    this.#reject(error)
  }
}

class Part implements Expected {
  readonly name: string
  readonly args = none
  readonly #volley: Volley
  readonly #place: number

  constructor(name: string, volley: Volley, place: number) {
    this.name = name
    this.#volley = volley
    this.#place = place
  }

  resolve(answer: unknown): void {
    this.#volley.answered(this.#place, textsOf(answer))
  }

  reject(error: Error): void {
    if (error.name === 'ReplyError') this.#volley.answered(this.#place, error)
    else this.#volley.broken(error)
  }
}

/** An answer with its strings as such. */
const textsOf = (answer: unknown): unknown => {
  if (answer instanceof Buffer) return answer.toString()
  return Array.isArray(answer) ? answer.map(textsOf) : answer
}
