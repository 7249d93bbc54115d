import { wallMs } from '../../wire/clock.ts'
import { ConfigError } from '../../wire/errors.ts'
import { clearTimeout, setTimeout } from '../../wire/timers.ts'
import { ServedConnection, type ServerSide } from './connection.ts'
import { engineText } from './engine-source.ts'
import { LuaMachine } from './lua-machine.ts'

/** A job as it was put into Redis: its queue, when in microseconds, and its message without the brace before it. */
export interface PutJob {
  queue: string
  atUs: number
  message: string
}

/** Texts in the machine have one character for each byte, as `latin1` reads them. */
const bytesOf = (text: string): string => Buffer.from(text, 'utf8').toString('latin1')
const textOf = (bytes: string): string => Buffer.from(bytes, 'latin1').toString('utf8')

/**
 * A Redis in this process: the commands that pshub sends, its library of functions, waits and ends of keys by the clock of pshub/testing, all in
 * Lua (clients/memory). What is here moves bytes and tells the time. Nothing is written to disk, nobody else can connect.
 */
export class MemoryRedis {
  readonly #machine: LuaMachine
  readonly #connections = new Map<string, ServedConnection>()
  readonly #side: ServerSide
  #isAway = false
  #isClosed = false
  #commandCount = 0
  #scheduled = 0
  #tick: NodeJS.Timeout | undefined

  private constructor(machine: LuaMachine) {
    this.#machine = machine
    this.#side = {
      schedule: run => {
        this.#scheduled++
        setImmediate(() => {
          this.#scheduled--
          run()
        })
      },
      feed: (id, bytes) => {
        if (this.#connections.has(id)) this.#send(this.#ask('feed', id, bytes))
      },
      left: id => {
        if (this.#connections.delete(id)) this.#ask('close', id)
      },
    }
  }

  /** @throws ConfigError when the package with Lua is not installed */
  static async open(): Promise<MemoryRedis> {
    return new MemoryRedis(await LuaMachine.open(engineText()))
  }

  /** How many commands it has run, and whether some are to be run in this turn. */
  get activity(): { commands: number; isBusy: boolean } {
    return { commands: this.#commandCount, isBusy: this.#scheduled > 0 }
  }

  get isAway(): boolean {
    return this.#isAway
  }

  /** A new connection. @throws Error ECONNREFUSED while it is away */
  connect(): ServedConnection {
    if (this.#isAway) throw Object.assign(new Error('connect ECONNREFUSED memory'), { code: 'ECONNREFUSED' })
    const [id] = this.#ask('open') as [string]
    const connection = new ServedConnection(id, this.#side)
    this.#connections.set(id, connection)
    return connection
  }

  /** All connections break, and new ones are refused, until it comes back with all its keys. */
  goAway(): void {
    this.#isAway = true
    for (const connection of [...this.#connections.values()])
      connection.destroy(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }))
  }

  comeBack(): void {
    this.#isAway = false
  }

  /** Runs one command from outside of any connection, as redis-cli would. @throws Error as Redis answers */
  command(...words: string[]): unknown {
    const [answer] = this.#ask('command', ...words.map(bytesOf)) as [string]
    this.#send(this.#ask('tick'))
    return replyIn(answer)
  }

  /** When the next job or schedule is due, Redis milliseconds. */
  get nextDueMs(): number {
    return Number(this.#ask('due')[0]!.replace('inf', 'Infinity'))
  }

  /** What is to be run now and has not ended: how much, by the key that it lies in. */
  get workLeft(): Map<string, number> {
    return new Map(pairs(this.#ask('left')).map(([key, count]) => [textOf(key), Number(count)]))
  }

  /** Leases of workers that died end then, Redis milliseconds. */
  lapse(endsMs: number, workers: readonly string[]): void {
    this.#ask('lapse', String(endsMs), ...workers)
  }

  /** The jobs that came behind the first so many, in their order; some of them, where there are many. */
  putBehind(count: number): PutJob[] {
    const said = this.#ask('enqueued', String(count))
    return said.flatMap((queue, at) =>
      at % 3 === 0 ? [{ queue: textOf(queue), atUs: Number(said[at + 1]), message: textOf(said[at + 2]!) }] : [],
    )
  }

  /** It is gone with all its keys, and its memory goes back. */
  close(): void {
    if (this.#isClosed) return
    this.goAway()
    clearTimeout(this.#tick)
    this.#connections.clear()
    this.#isClosed = true
    this.#machine.close()
  }

  /** @throws ConfigError after close() */
  #ask(verb: string, ...words: string[]): string[] {
    if (this.#isClosed) throw new ConfigError('This kit was closed; make a new one.')
    return this.#machine.call(verb, String(Math.floor(wallMs() * 1000)), ...words)
  }

  /** What goes out, and when the first of those who wait has waited for as long as it may. */
  #send(outgoing: string[]): void {
    for (const [id, bytes] of pairs(outgoing)) this.#connections.get(id)?.say(bytes)
    const [commands, soonestUs] = this.#ask('look')
    this.#commandCount = Number(commands)
    clearTimeout(this.#tick)
    this.#tick =
      soonestUs === 'inf'
        ? undefined
        : setTimeout(() => this.#send(this.#ask('tick')), Math.ceil(Number(soonestUs) / 1000 - wallMs()))
  }
}

const pairs = (flat: readonly string[]): [string, string][] =>
  flat.flatMap((each, at) => (at % 2 === 0 ? [[each, flat[at + 1]!] as [string, string]] : []))

/** What an answer in RESP 2 says. @throws Error for one that is an error */
const replyIn = (answer: string): unknown => {
  let at = 0
  const read = (): unknown => {
    const end = answer.indexOf('\r\n', at)
    const [kind, said] = [answer[at], answer.slice(at + 1, end)]
    at = end + 2
    if (kind === '-') throw new Error(textOf(said))
    if (kind === '+') return said
    if (kind === ':') return Number(said)
    if (said === '-1') return null
    if (kind === '*') return Array.from({ length: Number(said) }, read)
    const text = textOf(answer.slice(at, at + Number(said)))
    at += Number(said) + 2
    return text
  }
  return read()
}
