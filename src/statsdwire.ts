import { createSocket, type Socket } from 'node:dgram'
import { lookup } from 'node:dns'
import { createRequire } from 'node:module'
import { connect, isIP } from 'node:net'
import { monotonicMs } from './clock.ts'
import { ConfigError, messageOf } from './errors.ts'
import type { StatsdAddress } from './statsdaddress.ts'

/** One socket to a daemon, from its opening to its end. Nothing it does throws, and none keeps the process alive. */
export interface Wire {
  /** `done` is told once whether the text left this process; texts that are not sent are dropped. */
  send(text: string, done: (error?: Error) => void): void
  /** Takes nothing more; resolves when what was sent is on its way, and that may be never. */
  close(): Promise<void>
  /** Ends it whatever is on its way. */
  destroy(): void
  /** True when the address may mean another machine by now. */
  readonly isStale: boolean
}

/**
 * `onLost` is called at most once: this wire carries nothing any more. `onError`: something that was sent earlier did not
 * arrive.
 */
export type OpenWire = (onLost: (error: Error) => void, onError: (error: Error) => void) => Wire

/** Texts that wait for an answer of the name service. */
const maxPending = 64
/** Bytes that wait for a daemon that does not read. */
const maxQueuedBytes = 128 * 1024
const connectMs = 5000
/** A daemon that reads nothing for so long is connected to anew. */
const stuckMs = 10_000
const resolveAgainMs = 60_000

/** @throws ConfigError when this address needs what is not installed */
export const wireTo = (address: StatsdAddress): OpenWire => {
  switch (address.kind) {
    case 'udp':
      return (onLost, onError) => new UdpWire(address.host, address.port, onLost, onError)
    case 'tcp':
      return onLost => openTcp(address.host, address.port, onLost)
    case 'unix':
      return openUnix(address.path)
  }
}

/**
 * Connected, although UDP needs no connection: the name is looked up once and not for each datagram, and a daemon that
 * is away is noticed, where the network says so.
 */
class UdpWire implements Wire {
  readonly #onLost: (error: Error) => void
  readonly #onError: (error: Error) => void
  readonly #isName: boolean
  readonly #openedAt = monotonicMs()
  #socket: Socket | undefined
  #pending: [text: string, done: (error?: Error) => void][] = []
  #isOpen = false
  #isOver = false
  #sending = 0
  #onQuiet: (() => void) | undefined

  constructor(host: string, port: number, onLost: (error: Error) => void, onError: (error: Error) => void) {
    this.#onLost = onLost
    this.#onError = onError
    this.#isName = isIP(host) === 0
    if (!this.#isName) this.#connect(host, isIP(host), port)
    else
      lookup(host, (error, address, family) => {
        if (error) this.#lose(error)
        else this.#connect(address, family, port)
      })
  }

  get isStale(): boolean {
    return this.#isName && monotonicMs() - this.#openedAt > resolveAgainMs
  }

  send(text: string, done: (error?: Error) => void): void {
    if (this.#isOver) done(new Error('the socket is closed'))
    else if (this.#isOpen) this.#send(text, done)
    else if (this.#pending.length < maxPending) this.#pending.push([text, done])
    else done(new Error('its name is not found'))
  }

  async close(): Promise<void> {
    if (this.#sending > 0 || this.#pending.length > 0) {
      await new Promise<void>(resolve => {
        this.#onQuiet = resolve
      })
    }
    this.destroy()
  }

  destroy(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#pending = []
    this.#socket?.close()
    this.#onQuiet?.()
  }

  #connect(address: string, family: number, port: number): void {
    if (this.#isOver) return
    this.#socket = createSocket(family === 6 ? 'udp6' : 'udp4')
    this.#socket.unref()
    // A refusal comes with a later datagram or by itself, whichever looks first.
    this.#socket.on('error', this.#onError)
    this.#socket.connect(port, address, (error?: Error) => {
      if (error) return this.#lose(error)
      this.#isOpen = true
      const pending = this.#pending
      this.#pending = []
      for (const [text, done] of pending) this.#send(text, done)
    })
  }

  #send(text: string, done: (error?: Error) => void): void {
    this.#sending++
    this.#socket!.send(text, error => {
      this.#sending--
      done(error ?? undefined)
      if (this.#sending === 0) this.#onQuiet?.()
    })
  }

  #lose(error: Error): void {
    this.destroy()
    this.#onLost(error)
  }
}

const openTcp = (host: string, port: number, onLost: (error: Error) => void): Wire => {
  const socket = connect({ host, port })
  let isOver = false
  let progressAt = monotonicMs()
  const lose = (error: Error) => {
    clearTimeout(tooSlow)
    if (isOver) return
    isOver = true
    socket.destroy()
    onLost(error)
  }
  const tooSlow = setTimeout(() => lose(new Error(`no connection within ${connectMs} ms`)), connectMs)
  tooSlow.unref()
  // What a daemon says is not read, but its end is only noticed by reading.
  socket.unref().resume()
  socket.once('connect', () => clearTimeout(tooSlow))
  socket.on('error', lose)
  socket.on('close', () => lose(new Error('it closed the connection')))
  return {
    isStale: false,
    send: (text, done) => {
      if (isOver) return done(new Error('the connection is closed'))
      if (socket.writableLength === 0) progressAt = monotonicMs()
      if (socket.writableLength + text.length > maxQueuedBytes) {
        const error = new Error('it does not read')
        if (monotonicMs() - progressAt > stuckMs) lose(error)
        return done(error)
      }
      socket.write(text, error => {
        progressAt = monotonicMs()
        done(error ?? undefined)
      })
    },
    close: () =>
      new Promise(resolve => {
        if (isOver) return resolve()
        isOver = true
        clearTimeout(tooSlow)
        socket.once('close', () => resolve())
        socket.end(() => socket.destroy())
      }),
    destroy: () => socket.destroy(),
  }
}

interface UnixSocket {
  on(event: 'error', listener: (error: Error) => void): void
  connect(path: string): void
  send(data: Buffer, done: (error?: Error) => void): void
  close(): void
}

/**
 * A socket for what is sent in one turn of the loop, and no longer: an open one would keep the process alive, and would
 * be useless once the daemon was started anew.
 */
const openUnix = (path: string): OpenWire => {
  const createUnixSocket = loadUnixSockets()
  let socket: UnixSocket | undefined
  let failure: Error | undefined
  const open = (): UnixSocket => {
    const opened = createUnixSocket('unix_dgram')
    failure = undefined
    // Told by connect() itself.
    opened.on('error', error => {
      failure = error
    })
    opened.connect(path)
    // Its native half must not be closed from within a call of its own.
    setImmediate(() => {
      socket = undefined
      opened.close()
    })
    return opened
  }
  return () => ({
    isStale: false,
    send: (text, done) => {
      socket ??= open()
      if (failure) done(failure)
      else socket.send(Buffer.from(text), done)
    },
    // What was sent has been written.
    close: async () => undefined,
    destroy: () => undefined,
  })
}

/** Node itself has no datagrams on paths. */
const loadUnixSockets = (): ((type: 'unix_dgram') => UnixSocket) => {
  try {
    return createRequire(import.meta.url)('unix-dgram').createSocket
  } catch (cause) {
    const advice = "install it with 'npm install unix-dgram' (it is compiled), or use udp://host:port"
    throw new ConfigError(
      `StatsD at unix:// needs the package unix-dgram, which cannot be loaded; ${advice}. (${firstLine(cause)})`,
    )
  }
}

const firstLine = (error: unknown): string => messageOf(error).split('\n')[0]!
