import { randomUUID } from 'node:crypto'
import type { AuthInfo } from '@modelcontextprotocol/sdk/server/auth/types.js'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ConfigError, type Hub } from 'pshub'
import { identityOf, rightsOf } from '../access.ts'
import { auditOf } from '../audit.ts'
import { hashOf } from '../call-routes.ts'
import type { Limits } from '../limits.ts'
import type { Readings } from '../readings.ts'
import { Refusal } from '../refusal.ts'
import { notToBeRun, type Rights } from '../rules.ts'
import { sendMarks } from './exact-messages.ts'
import { type HttpSession, HttpSessions } from './http-sessions.ts'
import { loadHttpTransport, loadServer, type Sdk } from './sdk.ts'
import { makeToolServer } from './server.ts'
import { compiler, Tools } from './tools.ts'

export interface McpRoutesOptions {
  hub: Hub
  readings: Readings
  limits: Limits
  isNamed(task: string): boolean
}

interface Parts {
  sdk: Sdk
  compiles: ReturnType<typeof compiler>
  Transport: Awaited<ReturnType<typeof loadHttpTransport>>
}

/** Tasks as tools for agents, over streamable HTTP (Model Context Protocol): who may run tasks may use them. */
export const mcpRoutes = async (app: FastifyInstance, options: McpRoutesOptions): Promise<void> => {
  const sessions = new HttpSessions()
  // Before the server waits for its connections to end.
  app.addHook('preClose', () => sessions.close())
  const begin = runBeginner(app, options)
  let loading: Promise<Parts> | undefined
  const load = (): Promise<Parts> => {
    loading ??= loadParts().catch(error => {
      loading = undefined
      throw error
    })
    return loading
  }

  /** What its tools are is seen as the one who begins it may; whether one may be run is asked again with each run. */
  const beginSession = async (token: string, { runs }: Rights): Promise<HttpSession> => {
    const { sdk, compiles, Transport } = await load()
    const tools = new Tools({ readings: options.readings, mayRun: runs, isNamed: options.isNamed, compiles })
    sessions.makeRoom(token)
    const transport = new Transport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: id => sessions.add(id, session),
      onsessionclosed: id => sessions.delete(id),
    })
    const onFault = (error: unknown) => app.log.warn({ err: error }, 'a client of tools was not served')
    const server = makeToolServer({ sdk, hub: options.hub, tools, begin, onFault })
    const session: HttpSession = { server, transport, token }
    await server.connect(transport as never)
    sendMarks(transport as never)
    return session
  }

  app.route({
    method: ['GET', 'POST', 'DELETE'],
    url: '/mcp',
    exposeHeadRoute: false,
    config: { registryAccess: 'run' },
    handler: async (request, reply) => {
      const { token, key, session: login } = identityOf(request)
      // Its stream would outlast the login.
      if (login !== undefined) throw new Refusal(401, 'Unauthorized', 'Programs send a bearer token.')
      const id = request.headers['mcp-session-id']
      const session = typeof id === 'string' ? sessions.find(id, token) : await beginSession(token, rightsOf(request))
      const auth: AuthInfo = { token: '', clientId: key, scopes: [], extra: { request } }
      await sessions.handle(session, request, reply, auth)
      // It was no beginning, and was told so.
      if (session.transport.sessionId === undefined) await session.server.close()
      return reply
    },
  })
}

const loadParts = async (): Promise<Parts> => {
  try {
    const [sdk, Transport] = await Promise.all([loadServer(), loadHttpTransport()])
    return { sdk, Transport, compiles: compiler(sdk) }
  } catch (error) {
    if (error instanceof ConfigError) throw new Refusal(503, 'Unavailable', error.message)
    throw error
  }
}

/** A run counts as one of the gateway's, and is logged as these are. */
const runBeginner = (app: FastifyInstance, { limits }: McpRoutesOptions) => {
  const audit = auditOf(app, 'run')
  return async (task: string, args: unknown, who: AuthInfo | undefined) => {
    const startedAt = performance.now()
    const request = who!.extra!.request as FastifyRequest
    const tell = (code: string) =>
      audit(request, 'task run by an agent', {
        task,
        argsHash: hashOf(args),
        code,
        ms: Math.round(performance.now() - startedAt),
      })
    const { key, token } = identityOf(request)
    if (!rightsOf(request).runs(task)) throw notToBeRun(task)
    try {
      await limits.runs.count(request, key)
      const leave = limits.underWay.enter(token)
      return (code: string) => {
        leave()
        tell(code)
      }
    } catch (refused) {
      tell('TooManyRequests')
      throw refused
    }
  }
}
