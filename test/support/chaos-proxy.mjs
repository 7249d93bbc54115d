// Plain JavaScript, because the fault suite runs it without a compiler.
import { connect, createServer } from 'node:net'

/** A TCP proxy in front of Redis that can do to connections what networks do. */
export class ChaosProxy {
  port = 0
  /** When connections came in, in milliseconds of performance.now(). */
  accepted = []
  /** Bytes in this direction vanish while the connection stays open; heal() cuts connections that lost some. */
  dropToServer = false
  dropToClient = false
  /** Nothing passes either way, as on an unplugged cable; what is under way arrives late, at heal(). */
  frozen = false
  /** What was sent over connections that were forgotten. */
  forgotten = ''
  /** New connections are accepted and closed at once. */
  refuse = false
  /** Milliseconds by which the next chunk is late. @type {(() => number) | undefined} */
  delayMs = undefined
  /** What passes in each direction, of all connections together: a slow link. @type {number | undefined} */
  bytesPerSecond = undefined
  /** Each connection has that much for itself: none waits behind the others. */
  isFair = false
  /** Called with each chunk to the server; true drops all answers from then on, until heal(). @type {((chunk: Buffer) => boolean) | undefined} */
  dropAnswersAfter = undefined
  /** The same, but only for the connection of that chunk. @type {((chunk: Buffer) => boolean) | undefined} */
  deafenAfter = undefined
  /** Called with each chunk to the server; a number cuts the connection after that many bytes of it. @type {((chunk: Buffer) => number | undefined) | undefined} */
  cutInside = undefined
  /**
   * Called with each chunk to the server until it is true of one: that, and what follows on its connection, arrives only so many
   * milliseconds after the client has given that connection up. @type {((chunk: Buffer) => boolean) | undefined}
   */
  holdFrom = undefined
  /** @type {number} */
  lateMs = 2000
  /** What came late: whether the server answered, or had closed the connection. */
  late = { held: 0, answered: 0, closed: 0 }
  /** Called with each chunk once it was passed to the server. @type {((chunk: Buffer) => void) | undefined} */
  onPassed = undefined
  #server = createServer(client => this.#accept(client))
  #pairs = new Set()
  #target
  /** When the slow link has passed on all that it was given, by direction or by connection. */
  #freeAt = new Map()

  constructor(target) {
    this.#target = target
  }

  /**
   * @param {number} target port of the server behind it
   * @returns {Promise<ChaosProxy>}
   */
  static async start(target) {
    const proxy = new ChaosProxy(target)
    await new Promise(resolve => proxy.#server.listen(0, '127.0.0.1', resolve))
    proxy.port = proxy.#server.address().port
    return proxy
  }

  /** @returns {string} */
  get url() {
    return `redis://127.0.0.1:${this.port}`
  }

  #accept(client) {
    this.accepted.push(performance.now())
    if (this.refuse) {
      client.destroy()
      return
    }
    const server = connect(this.#target, '127.0.0.1')
    const pair = { client, server, deaf: false, lostBytes: false, held: undefined, isForgotten: false }
    this.#pairs.add(pair)
    const toServer = this.#late(server, 'toServer')
    const toClient = this.#late(client, 'toClient')
    // A stream that has lost bytes never carries any again: TCP has no gaps, and neither side could make sense of one.
    const lost = { toServer: false, toClient: false }
    client.on('data', chunk => {
      if (this.#holds(pair, chunk)) return
      lost.toServer ||= this.dropToServer || pair.isForgotten
      if (pair.isForgotten) this.forgotten += chunk
      if (lost.toServer) pair.lostBytes = true
      else if (!this.#cutsInside(pair, chunk)) {
        if (this.dropAnswersAfter?.(chunk)) this.dropToClient = true
        if (this.deafenAfter?.(chunk)) pair.deaf = true
        toServer(chunk)
        this.onPassed?.(chunk)
      }
    })
    server.on('data', chunk => {
      lost.toClient ||= this.dropToClient || pair.deaf || pair.isForgotten
      if (lost.toClient) pair.lostBytes = true
      else toClient(chunk)
    })
    const end = () => {
      if (pair.held && !server.closed) return
      this.#pairs.delete(pair)
      client.destroy()
      server.destroy()
    }
    client.on('close', () => pair.held && setTimeout(() => this.#deliver(pair), this.lateMs))
    for (const socket of [client, server]) {
      socket.setNoDelay(true)
      socket.on('close', end)
      socket.on('error', () => undefined)
      if (this.frozen) socket.pause()
    }
  }

  #holds(pair, chunk) {
    if (!pair.held) {
      if (!this.holdFrom?.(chunk)) return false
      this.holdFrom = undefined
      this.late.held++
      pair.held = []
    }
    pair.held.push(chunk)
    return true
  }

  #deliver({ server, held }) {
    if (server.closed) {
      this.late.closed++
      return
    }
    server.once('data', () => {
      this.late.answered++
      server.destroy()
    })
    server.write(Buffer.concat(held))
  }

  #cutsInside({ client, server }, chunk) {
    const bytes = this.cutInside?.(chunk)
    if (bytes === undefined) return false
    server.write(chunk.subarray(0, bytes), () => {
      server.destroy()
      client.resetAndDestroy()
    })
    return true
  }

  /** Writes at once, or late; chunks of one connection keep their order however long each of them takes. */
  #late(socket, direction) {
    const waiting = []
    const flush = () => {
      while (waiting.length > 0 && waiting[0].at <= performance.now()) {
        const { chunk } = waiting.shift()
        if (!socket.destroyed) socket.write(chunk)
      }
      if (waiting.length === 0) return
      // A timer takes a millisecond at the least.
      const leftMs = waiting[0].at - performance.now()
      if (leftMs < 1) setImmediate(flush)
      else setTimeout(flush, Math.floor(leftMs))
    }
    return chunk => {
      if (!this.delayMs && !this.bytesPerSecond && waiting.length === 0) {
        socket.write(chunk)
        return
      }
      waiting.push({ chunk, at: this.#arrivalOf(chunk, this.isFair ? socket : direction) })
      if (waiting.length === 1) flush()
    }
  }

  #arrivalOf(chunk, line) {
    const at = performance.now() + (this.delayMs?.() ?? 0)
    if (!this.bytesPerSecond) return at
    const arrivesAt = Math.max(at, this.#freeAt.get(line) ?? 0) + (chunk.length / this.bytesPerSecond) * 1000
    this.#freeAt.set(line, arrivesAt)
    return arrivesAt
  }

  /** Leads to another server from now on. */
  switchTo(port) {
    this.#target = port
    this.cut()
  }

  freeze() {
    this.frozen = true
    for (const { client, server } of this.#pairs) {
      client.pause()
      server.pause()
    }
  }

  thaw() {
    this.frozen = false
    for (const { client, server } of this.#pairs) {
      client.resume()
      server.resume()
    }
  }

  /** What passes on the connections of now vanishes from now on, as behind a firewall that has forgotten them; new ones are like any other. */
  forget() {
    for (const pair of this.#pairs) pair.isForgotten = true
  }

  /** Cuts the connections whose answers were dropped, and drops no others. */
  cutDeaf() {
    this.deafenAfter = undefined
    for (const { client, deaf } of this.#pairs) if (deaf) client.resetAndDestroy()
  }

  /** Cuts every connection. */
  cut() {
    for (const pair of this.#pairs) {
      pair.held = undefined
      pair.client.resetAndDestroy()
      pair.server.destroy()
    }
  }

  heal() {
    this.dropToClient = false
    this.dropToServer = false
    this.refuse = false
    this.delayMs = undefined
    this.bytesPerSecond = undefined
    this.dropAnswersAfter = undefined
    this.deafenAfter = undefined
    this.holdFrom = undefined
    this.cutInside = undefined
    this.onPassed = undefined
    for (const { client, lostBytes, deaf } of this.#pairs) {
      // Its ends would find out by themselves, some seconds later.
      if (lostBytes || deaf) client.resetAndDestroy()
    }
    this.thaw()
  }

  async stop() {
    this.cut()
    await new Promise(resolve => this.#server.close(resolve))
  }
}
