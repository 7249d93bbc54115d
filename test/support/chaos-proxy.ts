import { connect, createServer, type Server, type Socket } from 'node:net'

interface Pair {
  client: Socket
  server: Socket
}

/** A TCP proxy in front of Redis that can do to connections what networks do. */
export class ChaosProxy {
  readonly port: number
  readonly #server: Server
  readonly #pairs = new Set<Pair>()
  /** Bytes in this direction vanish while the connection stays open. */
  dropToServer = false
  dropToClient = false
  /** New connections are accepted and closed at once. */
  refuse = false
  /** Called with each chunk to the server; true drops all answers from then on, until heal(). */
  dropAnswersAfter: ((chunk: Buffer) => boolean) | undefined

  private constructor(server: Server, port: number) {
    this.#server = server
    this.port = port
  }

  static async start(target: number): Promise<ChaosProxy> {
    let proxy: ChaosProxy
    const server = createServer(client => proxy.#accept(client, target))
    await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
    proxy = new ChaosProxy(server, (server.address() as { port: number }).port)
    return proxy
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`
  }

  #accept(client: Socket, target: number): void {
    if (this.refuse) {
      client.destroy()
      return
    }
    const server = connect(target, '127.0.0.1')
    client.setNoDelay(true)
    server.setNoDelay(true)
    const pair = { client, server }
    this.#pairs.add(pair)
    // A stream that has lost bytes never carries any again: TCP has no gaps, and neither side could make sense of one.
    const broken = { toServer: false, toClient: false }
    client.on('data', chunk => {
      broken.toServer ||= this.dropToServer
      if (broken.toServer) return
      if (this.dropAnswersAfter?.(chunk)) this.dropToClient = true
      server.write(chunk)
    })
    server.on('data', chunk => {
      broken.toClient ||= this.dropToClient
      if (!broken.toClient) client.write(chunk)
    })
    const end = () => {
      this.#pairs.delete(pair)
      client.destroy()
      server.destroy()
    }
    for (const socket of [client, server]) {
      socket.on('close', end)
      socket.on('error', () => undefined)
    }
  }

  /** Cuts every connection. */
  cut(): void {
    for (const { client, server } of this.#pairs) {
      client.resetAndDestroy()
      server.destroy()
    }
  }

  heal(): void {
    this.dropToClient = false
    this.dropToServer = false
    this.refuse = false
    this.dropAnswersAfter = undefined
  }

  async stop(): Promise<void> {
    this.cut()
    await new Promise(resolve => this.#server.close(resolve))
  }
}
