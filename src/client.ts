import { Command, Redis, type RedisOptions } from 'ioredis'

export type { Redis, RedisOptions }

/** What users give as `redis`: a URL or ioredis options (Sentinel ones included). */
export type RedisTarget = string | RedisOptions

/**
 * Options that keep ioredis' promises settling (each trap was reproduced against ioredis 6.0.0): with
 * `maxRetriesPerRequest` above 0 a command under way may pend for ever when the server accepts and closes; with
 * re-sending on, a push whose answer was lost runs twice; the offline queue has no bound. There is no function among
 * them, because they are copied into a thread.
 */
const fixedOptions: RedisOptions = {
  lazyConnect: true,
  retryStrategy: null,
  reconnectOnError: null,
  maxRetriesPerRequest: 0,
  enableOfflineQueue: false,
  enableReadyCheck: true,
  connectTimeout: 2000,
  disableClientInfo: true,
  failoverDetector: true,
}

type LegacyOptions = RedisOptions & { replyMapping?: 'legacy' }

/**
 * What the constructor of an ioredis client takes. What is first counts, against the order of its declared types: what
 * follows ? in a URL must not undo these options.
 */
export const clientArguments = (target: RedisTarget, connectionName: string): [LegacyOptions, string?] => {
  const options = { ...(typeof target === 'string' ? {} : target), ...fixedOptions, connectionName } as LegacyOptions
  return typeof target === 'string' ? [options, target] : [options]
}

/** Where the commands of one tick go instead of the socket; ioredis hands what it sends to a pipeline in this shape. */
type Collector = Extract<Parameters<Redis['sendCommand']>[1], { isPipeline: true }>
type NetStream = Collector['destination']['redis']['stream']

/**
 * An ioredis client that writes once per tick of the event loop, whatever the number of commands. A write costs as much as
 * several small commands, most of it for waking the other side; ioredis' own pipelines would do the same for those who have all
 * commands at hand.
 */
class TickClient extends Redis {
  #collected = ''
  readonly #collector = { isPipeline: true, write: (text: string | Buffer) => this.#collect(text) } as Collector

  override sendCommand(...[sent, stream]: Parameters<Redis['sendCommand']>): unknown {
    // The handshake goes its own way, and so does a pipeline, which must not overtake what was sent before it.
    if (stream || this.status !== 'ready') {
      this.#flush()
      return super.sendCommand(sent, stream)
    }
    this.#collector.destination ??= { redis: this as unknown as { stream: NetStream } }
    return super.sendCommand(sent, this.#collector)
  }

  #collect(text: string | Buffer): void {
    if (typeof text !== 'string') {
      this.#flush()
      this.#stream.write(text)
      return
    }
    if (this.#collected === '') process.nextTick(() => this.#flush())
    this.#collected += text
  }

  #flush(): void {
    const text = this.#collected
    if (text === '') return
    this.#collected = ''
    this.#stream.write(text)
  }

  get #stream(): NetStream {
    return (this as unknown as { stream: NetStream }).stream
  }
}

export const makeClient = (target: RedisTarget, connectionName: string): Redis =>
  new (TickClient as unknown as new (...given: unknown[]) => Redis)(...clientArguments(target, connectionName))

const replyEncoding = 'utf8'

/**
 * Sends one command of those that each call needs. The client's own methods do the same and more: for a lone call, whose
 * commands find no processor cache warm, that is a hundredth of its time.
 */
export const command = (client: Redis, name: string, ...args: (string | number)[]): Promise<unknown> =>
  client.sendCommand(new Command(name, args, { replyEncoding })) as Promise<unknown>

/** Text as Redis' protocol carries it. */
const bulk = (text: string): string => `$${Buffer.byteLength(text)}\r\n${text}\r\n`

class Ready extends Command {
  readonly #text: string

  constructor(name: string, text: string) {
    super(name, [], { replyEncoding })
    this.#text = text
  }

  override toWritable(): string {
    return this.#text
  }
}

/**
 * The beginning of a command that is sent with each call, encoded once: its name, and those of its arguments that are always the
 * same. Encoding all of them anew each time took a lone call 10 us in the hub and as much in the worker.
 */
export class Preset {
  readonly #name: string
  readonly #count: number
  readonly #text: string

  constructor(name: string, ...args: (string | number)[]) {
    this.#name = name
    this.#count = args.length + 1
    this.#text = [name, ...args].map(arg => bulk(String(arg))).join('')
  }

  /** Sends the command with further arguments. */
  send(client: Redis, args: readonly (string | number)[]): Promise<unknown> {
    let text = `*${this.#count + args.length}\r\n${this.#text}`
    for (const arg of args) text += typeof arg === 'string' ? bulk(arg) : bulkNumber(arg)
    return client.sendCommand(new Ready(this.#name, text)) as Promise<unknown>
  }
}

/** Nothing but ASCII. */
const bulkNumber = (value: number): string => {
  const text = String(value)
  return `$${text.length}\r\n${text}\r\n`
}

/** Ends a client for good. Not disconnect() alone: it half-closes, and a half-open peer never answers that. */
export const destroy = (client: Redis, reason: Error): void => {
  client.silentEmit('error', reason)
  client.disconnect()
  const { stream } = client as unknown as { stream?: { destroy(): void } }
  stream?.destroy()
}
