import { createSocket, type Socket } from 'node:dgram'
import { lookup } from 'node:dns'
import { connect } from 'node:net'
import { Writable } from 'node:stream'
import type { StatsdAddress } from '../../settings/statsd-address.ts'
import { ConfigError, messageOf } from '../../wire/errors.ts'
import { latePackage } from '../../wire/late-package.ts'

/** A way to a daemon. */
export interface Wire {
  /**
   * A stream that keeps no process alive. It is lost when it fails or closes; `failed` is told of what did not arrive and is no
   * reason for another one.
   */
  open(failed: (error: Error) => void): Writable
  /** After so long the address may mean another machine. */
  readonly lifeMs: number
}

/** A daemon that reads nothing for so long, or cannot be connected to, is connected to anew. */
const stuckMs = 10_000
const resolveAgainMs = 60_000

/** @throws ConfigError when this address needs what is not installed */
export const wireTo = (address: StatsdAddress): Wire => {
  switch (address.kind) {
    case 'udp':
      return { open: failed => openUdp(address.host, address.port, failed), lifeMs: resolveAgainMs }
    case 'tcp':
      return { open: () => openTcp(address.host, address.port), lifeMs: Number.POSITIVE_INFINITY }
    case 'unix': {
      const createUnixSocket = loadUnixSockets()
      return { open: failed => openUnix(createUnixSocket, address.path, failed), lifeMs: Number.POSITIVE_INFINITY }
    }
  }
}

/**
 * Connected, although UDP needs no connection: the name is looked up once and not for each datagram, and a daemon that
 * is away is noticed, where the network says so.
 */
const openUdp = (host: string, port: number, failed: (error: Error) => void): Writable => {
  let socket: Socket | undefined
  return new Writable({
    construct: done =>
      lookup(host, (error, address, family) => {
        if (error) return done(error)
        socket = createSocket(family === 6 ? 'udp6' : 'udp4').unref()
        // A refusal comes with a later datagram or by itself, whichever looks first.
        socket.on('error', failed)
        socket.connect(port, address, done)
      }),
    writev: (datagrams, done) => {
      let left = datagrams.length
      const sent = (error: Error | null) => {
        if (error) failed(error)
        if (--left === 0) done()
      }
      for (const { chunk } of datagrams) socket!.send(chunk, sent)
    },
    destroy: (error, done) => {
      socket?.close()
      done(error)
    },
  })
}

const openTcp = (host: string, port: number): Writable => {
  const socket = connect({ host, port, timeout: stuckMs })
  // What a daemon says is not read, but its end is only noticed by reading.
  socket.unref().resume()
  // The same event comes when there was nothing to send.
  socket.on('timeout', () => {
    if (socket.writableLength > 0) socket.destroy(new Error(`nothing is taken for ${stuckMs} ms`))
  })
  return socket
}

interface UnixSocket {
  on(event: 'error', listener: (error: Error) => void): void
  connect(path: string): void
  send(data: Buffer, done: (error?: Error) => void): void
  close(): void
}

type CreateUnixSocket = (type: 'unix_dgram') => UnixSocket

/**
 * A socket for what is sent in one turn of the loop, and no longer: an open one would keep the process alive, and would
 * be useless once the daemon was started anew.
 */
const openUnix = (create: CreateUnixSocket, path: string, failed: (error: Error) => void): Writable =>
  new Writable({
    writev: (datagrams, done) => {
      try {
        const socket = create('unix_dgram')
        // Its native half must not be closed from within a call of its own.
        setImmediate(() => {
          socket.close()
          done()
        })
        let isAway = false
        // Told by connect() itself.
        socket.on('error', error => {
          isAway = true
          failed(error)
        })
        socket.connect(path)
        if (!isAway) for (const { chunk } of datagrams) socket.send(chunk, error => error && failed(error))
      } catch (error) {
        done(error as Error)
      }
    },
  })

/** Node itself has no datagrams on paths. */
const loadUnixSockets = (): CreateUnixSocket => {
  try {
    return (latePackage('unix-dgram') as { createSocket: CreateUnixSocket }).createSocket
  } catch (cause) {
    const advice = "install it with 'npm install unix-dgram' (it is compiled), or use udp://host:port"
    const [reason] = messageOf(cause).split('\n')
    throw new ConfigError(
      `StatsD at unix:// needs the package unix-dgram, which cannot be loaded; ${advice}. (${reason})`,
    )
  }
}
