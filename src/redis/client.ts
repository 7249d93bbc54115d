import { Command, Redis as IoRedis } from 'ioredis'
import { type Address, clientOptions, type RedisTarget } from './target.ts'

/** A command's name and words, before it is written. */
export type Sendable = Command & { args: (string | number)[] }

/** Whom commands are given to: the client of a server, or all those of a Cluster. */
export interface Redis {
  sendCommand(command: Sendable): unknown
  readonly options?: { username?: string | null | undefined }
  /** Which node of a Cluster it is. */
  readonly node?: string
}

/** The client of one server. */
export type NodeClient = IoRedis

/** The socket of a client. ioredis does not document it: whoever uses it does without where it is missing. */
export const socketOf = (client: NodeClient): Partial<Pick<IoRedis['stream'], 'write' | 'destroy'>> =>
  client.stream ?? {}

/** Bytes of a client's connection: `read`, `accepted` by the system for sending, and `queued` in this process because it accepts no more. */
export interface Traffic {
  read: number
  accepted: number
  queued: number
}

/** Node tells what the system has accepted in fields that it does not document, and uses for timeouts itself; without them it is 0. */
export const trafficOf = (client: NodeClient): Traffic => {
  const {
    bytesRead = 0,
    _bytesDispatched = 0,
    _handle,
  } = (client.stream ?? {}) as Partial<IoRedis['stream']> & {
    _bytesDispatched?: number
    _handle?: { writeQueueSize?: number } | null
  }
  const queued = _handle?.writeQueueSize ?? 0
  return { read: bytesRead, accepted: _bytesDispatched - queued, queued }
}

/**
 * So much is written at once, before the tick ends: Redis, and whoever waits there, have it while the rest is made, and the text needs no
 * memory that the system has to map. With 16 calls of 10 kB in flight it is 12 % more calls a second, of 100 kB 6 %.
 */
export const longWriteChars = 60_000

/**
 * An ioredis client that writes once per tick of the event loop, whatever the number of commands. A write costs as much as
 * several small commands, most of it for waking the other side; ioredis' own pipelines would do the same for those who have all
 * commands at hand. What is written at the end of a tick is one text: corking the socket instead has each command encoded and
 * copied by itself, which took a fifth more processor time with 256 calls in flight.
 */
class TickClient extends IoRedis {
  #collected = ''
  #isAscii = true
  #isClusterNode = false
  readonly #collector = { writable: true, write: (text: string | Buffer) => this.#collect(text) }

  /** As it said itself before it was ready. */
  get isClusterNode(): boolean {
    return this.#isClusterNode
  }

  /** ioredis asks before a client is ready, and tells nobody the answer. */
  override info(...given: unknown[]): Promise<string> {
    const noted = given.map(each =>
      typeof each !== 'function'
        ? each
        : (error: Error | null, text?: unknown) => {
            this.#isClusterNode = /^(redis_mode|server_mode):cluster/m.test(String(text))
            each(error, text)
          },
    )
    return (super.info as (...given: unknown[]) => Promise<string>)(...noted)
  }

  override sendCommand(...[command, stream]: Parameters<IoRedis['sendCommand']>): unknown {
    // The handshake goes its own way, and so does a pipeline, which must not overtake what was sent before it.
    if (stream || this.status !== 'ready' || !socketOf(this).write) {
      this.#flush()
      return super.sendCommand(command, stream)
    }
    const sent = super.sendCommand(command, this.#collector as unknown as typeof stream)
    if (!(command instanceof SentCommand && command.isAscii)) this.#isAscii = false
    if (this.#collected.length > longWriteChars) this.#flush()
    return sent
  }

  #collect(text: string | Buffer): void {
    if (typeof text !== 'string') {
      this.#flush()
      this.stream.write(text)
      return
    }
    if (this.#collected === '') process.nextTick(() => this.#flush())
    this.#collected += text
  }

  #flush(): void {
    const text = this.#collected
    if (text === '') return
    // The same bytes, without a look at each of them.
    const encoding = this.#isAscii ? 'latin1' : 'utf8'
    this.#collected = ''
    this.#isAscii = true
    this.stream.write(text, encoding)
  }
}

/** `turn`: which of several addresses is asked first; `address`: the node of a Cluster that is meant. */
export const makeClient = (target: RedisTarget, connectionName: string, turn = 0, address?: Address): NodeClient => {
  const client = new TickClient(clientOptions(target, connectionName, turn, address))
  hushSentinels(client)
  return client
}

export const isClusterNode = (client: NodeClient): boolean => client instanceof TickClient && client.isClusterNode

/**
 * ioredis prints what befalls the connections on which it would hear of a failover, a sentinel that is away each minute: nobody
 * can listen to them. Not documented either; where it is not so any more they are printed again.
 */
const hushSentinels = (client: NodeClient): void => {
  const { connector } = client as unknown as { connector?: { connectToSentinel?(...given: unknown[]): IoRedis } }
  const connect = connector?.connectToSentinel
  if (!connector || !connect) return
  connector.connectToSentinel = (...given) => connect.apply(connector, given).on('error', () => undefined)
}

const texts = { replyEncoding: 'utf8' } as const
const none: string[] = []

/**
 * Keeps its arguments from ioredis' constructor, which copies them, and lets go of them once they are written: kept until the answer, those of
 * hundreds of calls in flight cost the caller an eighth of its processor time.
 */
class SentCommand extends Command {
  /** Known once it is written. */
  isAscii = true

  constructor(name: string, args: (string | number)[]) {
    super(name, none, texts)
    this.args = args as typeof this.args
  }

  override toWritable(): string {
    let text = `*${this.args.length + 1}\r\n$${this.name.length}\r\n${this.name}\r\n`
    for (const given of this.args) {
      const arg = typeof given === 'string' ? given : String(given)
      const bytes = Buffer.byteLength(arg)
      if (bytes !== arg.length) this.isAscii = false
      text += `$${bytes}\r\n${arg}\r\n`
    }
    this.args = none
    return text
  }
}

/**
 * Sends one command: the one way in which anything is sent. The client's own methods make other commands of it: with a prefix
 * before its keys, or later, together with others.
 */
export const command = (client: Redis, name: string, ...args: (string | number)[]): Promise<unknown> =>
  client.sendCommand(new SentCommand(name, args) as Sendable) as Promise<unknown>

/** What knows the nodes of a Cluster. */
export interface ManyNodes extends Redis {
  /** For commands without a key that are about what lives where this key does. */
  near(key: string): Redis
  /** For commands that are about each node: one for each master. */
  all(): Redis[]
  /** The node that serves this key; undefined when nobody is known to. */
  addressOf(key: string): string | undefined
}

const isMany = (client: Redis): client is ManyNodes => 'near' in client

/** Whom to give commands without a key that are about a key's server: its time, its connections, its keys. */
export const near = (client: Redis, key: string): Redis => (isMany(client) ? client.near(key) : client)

/** Each server with data, for commands that are about servers. */
export const serversOf = (client: Redis): Redis[] => (isMany(client) ? client.all() : [client])

/** The node that serves this key; undefined where there is one server, or nobody is known to. */
export const nodeOf = (client: Redis, key: string): string | undefined =>
  isMany(client) ? client.addressOf(key) : undefined

/** The clock of the Redis that this key is in, whole milliseconds. */
export const nowMsOf = async (client: Redis, key: string): Promise<number> => {
  const [seconds, micros] = (await command(near(client, key), 'time')) as [string, string]
  return Math.floor(Number(seconds) * 1000 + Number(micros) / 1000)
}

/** Ends a client for good. Not disconnect() alone: it half-closes, and a half-open peer never answers that. */
export const destroy = (client: NodeClient, reason: Error): void => {
  client.silentEmit('error', reason)
  client.disconnect()
  socketOf(client).destroy?.()
}
