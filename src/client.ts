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

/** A command that was sent, as ioredis hands it its answer: strings are buffers then. */
export interface Expected {
  /** In lower case. */
  readonly name: string
  readonly args: readonly string[]
  resolve(answer: unknown): void
  reject(error: Error): void
}

interface Inside {
  commandQueue: { push(sent: { command: Expected; stream: undefined; select: number }): unknown }
  stream: NetStream
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

  /**
   * Sends what is encoded already, with no more than ioredis needs to hand back the answer: its own way costs a lone command 5 us,
   * for a promise, a look at many options and a trace. None of these options and traces is for the commands of each call. It is
   * ioredis' own queue that is written here, so package.json asks for no other minor version.
   */
  deliver(expected: Expected, text: string): void {
    const { commandQueue, stream } = this as unknown as Inside
    if (this.status !== 'ready' || !stream.writable) {
      expected.reject(new Error('the connection is not ready'))
      return
    }
    this.#collect(text)
    commandQueue.push({ command: expected, stream: undefined, select: 0 })
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
    return (this as unknown as Inside).stream
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

/** Sends a command that is encoded already. A client of another kind, as some tests have it, does that its own way. */
export const deliver = (client: Redis, expected: Expected, text: string): void => {
  if (client instanceof TickClient) client.deliver(expected, text)
  else
    (client.sendCommand(new Encoded(expected.name, text)) as Promise<unknown>).then(
      answer => expected.resolve(answer),
      error => expected.reject(error),
    )
}

class Encoded extends Command {
  readonly #text: string

  constructor(name: string, text: string) {
    super(name, [], { replyEncoding })
    this.#text = text
  }

  override toWritable(): string {
    return this.#text
  }
}

/** Ends a client for good. Not disconnect() alone: it half-closes, and a half-open peer never answers that. */
export const destroy = (client: Redis, reason: Error): void => {
  client.silentEmit('error', reason)
  client.disconnect()
  const { stream } = client as unknown as { stream?: { destroy(): void } }
  stream?.destroy()
}
