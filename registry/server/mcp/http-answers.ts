import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { exactBody } from '../body.ts'
import { Refusal } from '../refusal.ts'
import { sendMarks, withExactArguments, writeExact } from './exact-messages.ts'

/** What serves one request. */
export interface Serving {
  server: Server
  transport: StreamableHTTPServerTransport
  /** Of a client that waits for what changes: whose it is. One that waits for what it asked for has none. */
  listener?: string
  /** Called when its answer has ended, and when its client has gone. */
  onEnd(): void
}

/** Clients of one token that wait for what changes. */
const maxListeners = 100

/** The requests that are being answered. Each has a server of its own, which ends with it, and gives up what runs for it. */
export class HttpAnswers {
  readonly #open = new Set<Serving>()

  /** @throws Refusal when all places of the token are in use */
  makeRoom(listener: string): void {
    if ([...this.#open].filter(each => each.listener === listener).length < maxListeners) return
    throw new Refusal(503, 'Unavailable', `${maxListeners} clients of this token are already listening; stop some.`, {
      'retry-after': '10',
    })
  }

  /** Resolves when its answer has ended. `onOpen`: it can be sent to. */
  async serve(serving: Serving, request: FastifyRequest, reply: FastifyReply, onOpen: () => void): Promise<void> {
    const { server, transport, onEnd } = serving
    if (reply.raw.destroyed) return onEnd()
    this.#open.add(serving)
    reply.raw.once('close', () => {
      this.#open.delete(serving)
      onEnd()
      void server.close()
    })
    reply.hijack()
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value)
    reply.raw.setHeader('x-accel-buffering', 'no')
    writeExact(reply.raw)
    await server.connect(transport as never)
    sendMarks(transport as never)
    const body = withExactArguments(request.body, exactBody(request))
    const handled = transport.handleRequest(request.raw, reply.raw, body)
    onOpen()
    await handled
  }

  async close(): Promise<void> {
    await Promise.all([...this.#open].map(({ server }) => server.close()))
  }
}
