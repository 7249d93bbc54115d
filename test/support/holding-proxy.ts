import { connect, createServer, type Server, type Socket } from 'node:net'

/**
 * A TCP proxy in front of Redis that delivers the bytes of a connection late, as a network does: after its client has given it up and
 * has gone.
 */
export class HoldingProxy {
  /** The first chunk to the server of which this is true, and all that follow it on its connection, are held. */
  holdFrom: ((chunk: string) => boolean) | undefined
  /** From the first chunk to the server of which this is true, the client of its connection hears nothing any more. */
  deafFrom: ((chunk: string) => boolean) | undefined
  readonly #server: Server
  readonly #port: number
  readonly #sockets = new Set<Socket>()
  #held: { chunks: Buffer[]; server: Socket } | undefined

  private constructor(port: number) {
    this.#port = port
    this.#server = createServer(client => this.#accept(client))
  }

  static async start(port: number): Promise<HoldingProxy> {
    const proxy = new HoldingProxy(port)
    await new Promise<void>(resolve => proxy.#server.listen(0, '127.0.0.1', resolve))
    return proxy
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as { port: number }).port}`
  }

  get isHolding(): boolean {
    return this.#held !== undefined
  }

  /** Resolves with what became of the held bytes: Redis answered them, or had closed their connection. */
  async deliver(): Promise<'answered' | 'closed'> {
    const { chunks, server } = this.#held!
    if (server.closed) return 'closed'
    const end = new Promise<'answered' | 'closed'>(resolve => {
      server.once('data', () => resolve('answered'))
      server.once('close', () => resolve('closed'))
    })
    server.resume()
    for (const chunk of chunks) server.write(chunk)
    return end
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy()
    await new Promise(resolve => this.#server.close(resolve))
  }

  #accept(client: Socket): void {
    const server = connect({ port: this.#port, host: '127.0.0.1', noDelay: true })
    let isDeaf = false
    const isHeld = () => this.#held?.server === server
    client.setNoDelay(true)
    client.on('data', chunk => {
      if (!isHeld() && this.holdFrom?.(chunk.toString('latin1'))) {
        this.holdFrom = undefined
        this.#held = { chunks: [], server }
      }
      if (this.deafFrom?.(chunk.toString('latin1'))) isDeaf = true
      if (isHeld()) this.#held!.chunks.push(chunk)
      else server.write(chunk)
    })
    server.on('data', chunk => client.destroyed || isDeaf || client.write(chunk))
    client.on('close', () => isHeld() || server.destroy())
    server.on('close', () => client.destroy())
    for (const socket of [client, server]) {
      this.#sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => this.#sockets.delete(socket))
    }
  }
}
