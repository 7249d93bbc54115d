import { Command, Redis } from 'ioredis'
import { clientArguments, type RedisTarget } from './target.ts'

export type { Redis }

/** The socket of a client. ioredis does not document it: whoever uses it does without where it is missing. */
export const socketOf = (client: Redis): Partial<Pick<Redis['stream'], 'write' | 'destroy' | 'bytesRead'>> =>
  client.stream ?? {}

/**
 * An ioredis client that writes once per tick of the event loop, whatever the number of commands. A write costs as much as
 * several small commands, most of it for waking the other side; ioredis' own pipelines would do the same for those who have all
 * commands at hand. What is written at the end of a tick is one text: corking the socket instead has each command encoded and
 * copied by itself, which took a fifth more processor time with 256 calls in flight.
 */
class TickClient extends Redis {
  #collected = ''
  #isAscii = true
  readonly #collector = { writable: true, write: (text: string | Buffer) => this.#collect(text) }

  override sendCommand(...[command, stream]: Parameters<Redis['sendCommand']>): unknown {
    // The handshake goes its own way, and so does a pipeline, which must not overtake what was sent before it.
    if (stream || this.status !== 'ready' || !socketOf(this).write) {
      this.#flush()
      return super.sendCommand(command, stream)
    }
    const sent = super.sendCommand(command, this.#collector as unknown as typeof stream)
    if (!(command instanceof SentCommand && command.isAscii)) this.#isAscii = false
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

/** `turn`: which sentinel is asked first. */
export const makeClient = (target: RedisTarget, connectionName: string, turn = 0): Redis => {
  const given = clientArguments(target, connectionName, turn)
  const client = new (TickClient as unknown as new (...given: unknown[]) => Redis)(...given)
  hushSentinels(client)
  return client
}

/**
 * ioredis prints what befalls the connections on which it would hear of a failover, a sentinel that is away each minute: nobody
 * can listen to them. Not documented either; where it is not so any more they are printed again.
 */
const hushSentinels = (client: Redis): void => {
  const { connector } = client as unknown as { connector?: { connectToSentinel?(...given: unknown[]): Redis } }
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
  client.sendCommand(new SentCommand(name, args)) as Promise<unknown>

/** Redis' clock, whole milliseconds. */
export const nowMsOf = async (client: Redis): Promise<number> => {
  const [seconds, micros] = (await command(client, 'time')) as [string, string]
  return Math.floor(Number(seconds) * 1000 + Number(micros) / 1000)
}

/** Ends a client for good. Not disconnect() alone: it half-closes, and a half-open peer never answers that. */
export const destroy = (client: Redis, reason: Error): void => {
  client.silentEmit('error', reason)
  client.disconnect()
  socketOf(client).destroy?.()
}
