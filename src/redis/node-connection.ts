import { backoffMs, monotonicMs, onAbort, sleep } from '../wire/clock.ts'
import { messageOf } from '../wire/errors.ts'
import { clearTimeout, detached, setInterval, setTimeout } from '../wire/timers.ts'
import { command, destroy, makeClient, type NodeClient, socketOf, type Traffic, trafficOf } from './client.ts'
import { ConnectionLost, isMoved, isWrongServer, NotConnected } from './failures.ts'
import type { Fence } from './fence.ts'
import { withBlanksNoted } from './refusals.ts'
import { type Address, asksPassword, type RedisTarget, withPassword } from './target.ts'

export interface NodeConnectionOptions {
  target: RedisTarget
  /** The node of a Cluster that is meant. Default: the one that the target names */
  address?: Address
  /** Shown by CLIENT LIST. */
  name: string
  /** Silence for this long, with commands under way, condemns the connection. */
  stallMs: number
  /** Of the connections that this one follows. */
  fence: Fence
  onUp?: (client: NodeClient) => void
  /** Called once per outage, with the reason, and again when Redis is there but refuses this client. */
  onDown?: (reason: Error) => void
  /** It is a node of a Cluster, and what was sent belongs to another one. */
  onMoved?: () => void
}

/** How long a new client gets to become ready, handshake and INFO included, before the next one is tried. */
const openTimeoutMs = 3000
const stallCheckMs = 250
/**
 * A link of 1.6 Mbit/s is not silent, but slow: megabytes lie in the buffers of the system for seconds, where nobody sees them move. They
 * have that long before their connection is given up.
 */
const slowestBytesPerMs = 200
const receivingMs = 4 * stallCheckMs
/** A firewall or NAT may forget a flow that rests, and tells neither end. */
const restMs = 10_000
/** What rested is asked for a sign of life before it is trusted, and gets this long for it: the caller still has time for another connection. */
const probeStallMs = 250

/**
 * One connection to one server that heals itself. It owns a chain of ioredis clients, one at a time, and lets none of them
 * reconnect or re-send: what was under way when a client broke is rejected as ConnectionLost, because only the layers
 * above know what may be repeated. A client that stalls is destroyed, never reused (an ioredis client whose command
 * timed out stays `ready`, and one told to disconnect while reconnecting stays so for ever: ioredis#2099, bullmq#4585).
 */
export class NodeConnection {
  readonly #options: NodeConnectionOptions
  readonly #closing = new AbortController()
  /** What is under way: whom to tell when it is lost, and since when, the oldest first. */
  readonly #flights = new Map<(lost: Error) => void, number>()
  #sentAt = 0
  /** Resolves when a connection that rested has answered, or is gone. */
  #probing: Promise<void> | undefined
  /** The present one, which may still be on its way to its server. */
  #client: NodeClient | undefined
  #isReady = false
  /** Ends the waiting for the present client's end. */
  #giveUp: (() => void) | undefined
  readonly #waiting: (() => void)[] = []
  #watch: NodeJS.Timeout | undefined
  #checkedAt = 0
  /** When the connection last showed a sign of life, and its traffic at the last look. */
  #aliveAt = 0
  #traffic: Traffic = { read: 0, accepted: 0, queued: 0 }
  /** What had been accepted for sending before something was last read: what came after it may still be on its way up a slow link. */
  #acceptedBefore = 0
  #down: Error | undefined
  #opening: Promise<void> | undefined
  /** Clients since the last one that was ready. */
  #attempt = 0
  /** How many clients in all never became ready, or not yet. */
  #failures = 0

  constructor(options: NodeConnectionOptions) {
    this.#options = options
  }

  /** Starts connecting; returns at once. Does nothing when already open. */
  open(): void {
    this.#opening ??= detached(() => this.#connect())
  }

  get isReady(): boolean {
    return this.#isReady
  }

  /** An answer is under way, and a part of it came a moment ago. */
  get isReceiving(): boolean {
    return this.#flights.size > 0 && monotonicMs() - this.#aliveAt < receivingMs
  }

  /** The present client, once it is ready. */
  get client(): NodeClient | undefined {
    return this.#isReady ? this.#client : undefined
  }

  /** Of the server that it is connected to, or was told to be. */
  get host(): string {
    return this.#options.address?.host ?? this.#client?.options.host ?? '127.0.0.1'
  }

  /** Why there is no connection at the moment, once an attempt failed. */
  get downReason(): Error | undefined {
    return this.#down
  }

  /** Resolves when there is a connection, or when the signal fires or the connection is closed: look at isReady. */
  whenReady(signal?: AbortSignal): Promise<void> {
    if (this.#isReady || this.#closing.signal.aborted || signal?.aborted) return Promise.resolve()
    return new Promise(resolve => {
      // Taken off again: the signals of hubs and workers live as long as they do, through any number of outages.
      const done = () => {
        signal?.removeEventListener('abort', done)
        resolve()
      }
      this.#waiting.push(done)
      if (signal) onAbort(signal, done)
    })
  }

  /**
   * Sends one or more commands in one write and returns what `commands` returns. Rejects with NotConnected (nothing
   * was sent), ConnectionLost (it may have run) or Redis' own error answer.
   */
  send<T>(commands: (client: NodeClient) => Promise<T>): Promise<T> {
    const client = this.#client
    if (!client || !this.#isReady)
      return Promise.reject(new NotConnected(this.#down?.message ?? 'not connected to Redis yet'))
    const now = monotonicMs()
    if (this.#flights.size === 0 && now - this.#sentAt > restMs) this.#probe(client, now)
    if (this.#probing) return this.#probing.then(() => this.send(commands))
    return this.#give(client, commands, now)
  }

  /** What is sent meanwhile waits for the answer, in its order: if there is none, nothing of it is in doubt. */
  #probe(client: NodeClient, now: number): void {
    const isOver = () => {
      this.#probing = undefined
    }
    // Every user may ask for the time. A refusal is a sign of life, too.
    this.#probing = this.#give(client, () => command(client, 'time'), now).then(isOver, isOver)
  }

  #give<T>(client: NodeClient, commands: (client: NodeClient) => Promise<T>, now: number): Promise<T> {
    this.#sentAt = now
    return new Promise<T>((resolve, reject) => {
      this.#flights.set(reject, now)
      this.#watch ??= this.#startWatch()
      commands(client).then(
        value => {
          this.#flights.delete(reject)
          resolve(value)
        },
        error => {
          this.#flights.delete(reject)
          reject(this.#classify(client, error))
        },
      )
    })
  }

  /** Drops the present client: everything under way is rejected as ConnectionLost and a new client is made. */
  discard(reason: Error): void {
    const client = this.#client
    this.#part(reason)
    // One that is still looking for its server does not end when it is told to; any other one does, with its socket.
    if (!client || !socketOf(client).destroy) this.#giveUp?.()
  }

  /** Closes for good. Commands under way are rejected, waiters are released. */
  async close(): Promise<void> {
    if (this.#closing.signal.aborted) return
    this.#closing.abort()
    this.discard(new Error('the connection was closed'))
    clearInterval(this.#watch)
    this.#release()
    await this.#opening
  }

  async #connect(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      const reason = await this.#lifeOfOneClient()
      if (signal.aborted) return
      // An outage that turns into a refusal, of a password that was changed for one, is told once more.
      const isNews = !this.#down || (reason.name === 'ReplyError' && reason.message !== this.#down.message)
      this.#down = reason
      if (isNews) this.#options.onDown?.(reason)
      await sleep(backoffMs(this.#attempt++), signal)
    }
  }

  /** Makes a client, announces it when it is ready, and resolves with the reason when it is gone. */
  async #lifeOfOneClient(): Promise<Error> {
    let lastError: Error | undefined
    let { target } = this.#options
    if (asksPassword(target))
      try {
        target = await inTime(withPassword(target))
        if (this.#closing.signal.aborted) return new Error('the connection was closed')
      } catch (error) {
        return error as Error
      }
    const { name, address } = this.#options
    let client: NodeClient
    try {
      client = makeClient(target, name, this.#failures++, address)
    } catch (error) {
      // Some errors of a constructor carry what it was given.
      return new Error(messageOf(error))
    }
    this.#client = client
    const gone = new Promise<void>(resolve => {
      client.once('end', resolve)
      this.#giveUp = resolve
    })
    const tooSlow = setTimeout(() => {
      this.discard(new Error(`no answer within ${openTimeoutMs} ms`))
    }, openTimeoutMs)
    client.on('error', error => {
      lastError = error
    })
    client.once('ready', () => {
      this.#options.fence.pass(client).then(
        () => {
          clearTimeout(tooSlow)
          this.#onReady(client)
        },
        error => {
          lastError ??= error
          destroy(client, error)
        },
      )
    })
    client.connect().catch(error => {
      lastError ??= error
    })
    await gone
    clearTimeout(tooSlow)
    const reason = lastError ?? new Error('Redis closed the connection')
    reason.message = withBlanksNoted(reason.message, client.options.username, client.options.password)
    forgetCommand(reason)
    // If it was not discarded, it ended by itself, but for its connections to sentinels.
    this.#part(reason)
    return reason
  }

  #onReady(client: NodeClient): void {
    // It may have been given up meanwhile.
    if (this.#client !== client) {
      destroy(client, new Error('closed'))
      return
    }
    this.#failures--
    this.#attempt = 0
    this.#isReady = true
    this.#sentAt = monotonicMs()
    this.#down = undefined
    this.#options.onUp?.(client)
    this.#release()
  }

  #part(reason: Error): void {
    const client = this.#client
    this.#client = undefined
    this.#isReady = false
    // The next one counts from the start: what this one had sent must not make that one's patience shorter.
    this.#traffic = { read: 0, accepted: 0, queued: 0 }
    this.#acceptedBefore = 0
    if (client) destroy(client, reason)
    for (const reject of this.#flights.keys()) reject(new ConnectionLost(reason.message))
    this.#flights.clear()
  }

  #startWatch(): NodeJS.Timeout {
    this.#checkedAt = monotonicMs()
    if (this.#client) this.#traffic = trafficOf(this.#client)
    this.#acceptedBefore = this.#traffic.accepted
    return setInterval(() => this.#checkStall(), stallCheckMs)
  }

  /** Gives up a connection on which nothing moves. A long answer or a long request on a slow link moves, and so do many round trips in a row. */
  #checkStall(): void {
    if (this.#flights.size === 0) {
      clearInterval(this.#watch)
      this.#watch = undefined
      return
    }
    const now = monotonicMs()
    const lateMs = now - this.#checkedAt - stallCheckMs
    this.#checkedAt = now
    const before = this.#traffic
    const traffic = this.#client ? trafficOf(this.#client) : before
    this.#traffic = traffic
    // When this loop was blocked, and not Redis, the answers of that time are here and only still to be read.
    const isHeard = traffic.read !== before.read || lateMs > stallCheckMs
    if (isHeard) this.#acceptedBefore = before.accepted
    // Only where the system's own buffer is full: it accepts small writes on a dead connection, too.
    if (isHeard || (before.queued > 0 && traffic.accepted > before.accepted)) this.#aliveAt = now
    const [oldest] = this.#flights.values()
    const silentMs = now - Math.max(oldest!, this.#aliveAt)
    const uploadMs = (traffic.accepted - this.#acceptedBefore) / slowestBytesPerMs
    if (silentMs > (this.#probing ? probeStallMs : this.#options.stallMs) + uploadMs) {
      this.discard(new Error(`Redis did not answer for ${Math.round(silentMs)} ms`))
    }
  }

  #classify(client: NodeClient, error: Error): Error {
    if (error.name !== 'ReplyError') return new ConnectionLost(this.#down?.message ?? error.message)
    if (this.#options.onMoved && isMoved(error)) {
      this.#options.onMoved()
      return new NotConnected('this is a node of a Cluster, and the others are not known yet')
    }
    if (isWrongServer(error) && this.#client === client) this.discard(error)
    forgetCommand(error)
    return error
  }

  #release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

/** ioredis hangs the whole command, payload or password included, on its errors; neither must reach logs. */
const forgetCommand = (error: Error): void => {
  delete (error as { command?: unknown }).command
}

/** A function of the user's that says nothing must not pass for a connection that is being made. */
const inTime = <T>(asked: Promise<T>): Promise<T> => {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`redis.password did not answer within ${openTimeoutMs} ms`)),
      openTimeoutMs,
    )
  })
  return Promise.race([asked, late]).finally(() => clearTimeout(timer))
}
