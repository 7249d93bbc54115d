import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import type { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { exactBody } from '../body.ts'
import { Refusal } from '../refusal.ts'
import { withExactArguments, writeExact } from './exact-messages.ts'

/** One client over HTTP, from its first request to its last. */
export interface HttpSession {
  server: Server
  transport: StreamableHTTPServerTransport
  /** Whose it is: another token's requests do not reach it. */
  token: string
}

interface Kept extends HttpSession {
  /** Answers that are not at their end. */
  open: number
  usedAt: number
}

/** Sessions of one token; clients that go without a word leave theirs behind. */
const maxOfToken = 100
/** One without any request for so long is over; clients begin another one then. */
const idleMs = 30 * 60_000
const lookMs = 60_000

/** Who is connected. A session ends with its client's word, when it is idle, when others of its token need the place, and with the service. */
export class HttpSessions {
  readonly #kept = new Map<string, Kept>()
  readonly #timer: NodeJS.Timeout

  constructor() {
    this.#timer = setInterval(() => this.#endIdle(), lookMs)
    this.#timer.unref()
  }

  /** @throws Refusal when all places of the token are in use at this moment */
  makeRoom(token: string): void {
    const own = [...this.#kept].filter(([, kept]) => kept.token === token)
    if (own.length < maxOfToken) return
    const idle = own.filter(([, { open }]) => open === 0).sort(([, a], [, b]) => a.usedAt - b.usedAt)[0]
    if (!idle)
      throw new Refusal(503, 'Unavailable', `${maxOfToken} clients of this token are connected already; end some.`, {
        'retry-after': '10',
      })
    this.#end(...idle)
  }

  add(id: string, session: HttpSession): void {
    this.#kept.set(id, { ...session, open: 0, usedAt: performance.now() })
  }

  delete(id: string): void {
    this.#kept.delete(id)
  }

  /** @throws Refusal where there is none of this token */
  find(id: string, token: string): HttpSession {
    const kept = this.#kept.get(id)
    if (kept?.token !== token) throw new Refusal(404, 'NotFound', 'This session is over; begin another one.')
    return kept
  }

  /** Hands a request to the transport of its session, with what is known of who sent it. */
  async handle({ transport }: HttpSession, request: FastifyRequest, reply: FastifyReply, auth: object): Promise<void> {
    const kept = this.#kept.get(transport.sessionId ?? '')
    if (kept) {
      kept.open++
      kept.usedAt = performance.now()
      reply.raw.on('close', () => {
        kept.open--
        kept.usedAt = performance.now()
      })
    }
    reply.hijack()
    for (const [name, value] of Object.entries(reply.getHeaders()))
      if (value !== undefined) reply.raw.setHeader(name, value)
    reply.raw.setHeader('x-accel-buffering', 'no')
    writeExact(reply.raw)
    const body = withExactArguments(request.body, exactBody(request))
    await transport.handleRequest(Object.assign(request.raw, { auth: auth as never }), reply.raw, body)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await Promise.all([...this.#kept.values()].map(({ server }) => server.close()))
    this.#kept.clear()
  }

  #endIdle(): void {
    const before = performance.now() - idleMs
    for (const [id, kept] of this.#kept) if (kept.open === 0 && kept.usedAt < before) this.#end(id, kept)
  }

  #end(id: string, { server }: Kept): void {
    this.#kept.delete(id)
    void server.close()
  }
}
