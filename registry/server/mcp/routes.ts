import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { ConfigError, type Hub } from 'pshub'
import { identityOf, rightsOf } from '../access.ts'
import { auditOf } from '../audit.ts'
import { hashOf } from '../call-routes.ts'
import type { OpenAnswers } from '../last-words.ts'
import type { Limits } from '../limits.ts'
import type { Readings } from '../readings.ts'
import { Refusal } from '../refusal.ts'
import { notToBeRun, type Rights } from '../rules.ts'
import { HttpAnswers, type Serving } from './http-answers.ts'
import { HttpRuns } from './http-runs.ts'
import { type Told, toldIn } from './messages.ts'
import { loadHttpTransport, loadServer, type Sdk } from './sdk.ts'
import { makeToolServer, tellOfChanges } from './server.ts'
import { compiler, Tools } from './tools.ts'

export interface McpRoutesOptions {
  hub: Hub
  readings: Readings
  limits: Limits
  open: OpenAnswers
  isNamed(task: string): boolean
}

interface Parts {
  sdk: Sdk
  compiles: ReturnType<typeof compiler>
  Transport: Awaited<ReturnType<typeof loadHttpTransport>>
}

/**
 * Tasks as tools for agents, over streamable HTTP (Model Context Protocol): who may run tasks may use them. Each request is served by itself,
 * so that any registry on this Redis can serve it: a session is but a name by which a client cancels its own runs, and is never over.
 */
export const mcpRoutes = async (app: FastifyInstance, options: McpRoutesOptions): Promise<void> => {
  const runs = new HttpRuns(options.hub.sessions)
  const answers = new HttpAnswers()
  // Before the server waits for its connections to end.
  app.addHook('preClose', async () => {
    runs.close()
    await options.open.stop()
    await answers.close()
  })
  const servingOf = servingMaker(app, options, runs)
  /** With this begin the sessions that began here. */
  const here = randomUUID().slice(0, 8)

  app.route({
    method: ['GET', 'POST', 'DELETE'],
    url: '/mcp',
    exposeHeadRoute: false,
    config: { registryAccess: 'run' },
    handler: async (request, reply) => {
      const { session: login, token } = identityOf(request)
      // Its stream would outlast the login.
      if (login !== undefined) throw new Refusal(401, 'Unauthorized', 'Send a bearer token.')
      const session = sessionOf(request)
      if (request.method === 'DELETE') {
        if (session) runs.cancelAll(session.beginning)
        return reply.code(200).send()
      }
      const isListener = request.method === 'GET'
      if (isListener) answers.makeRoom(token)
      const told = toldIn(request.body)
      const stopping = isListener ? undefined : options.open.add(reply.raw)
      const serving = await servingOf(request, { session, told, stopping })
      if (session) for (const id of told.cancelled) void runs.cancel(nameIn(session, id))
      if (told.isBeginning) reply.header(sessionHeader, `${here}-${randomUUID()}`)
      await answers.serve(serving, request, reply, () => {
        // What changed while its stream was broken off nobody else tells it.
        if (isListener && session && !session.id.startsWith(here))
          void serving.server.sendToolListChanged().catch(() => undefined)
      })
      return reply
    },
  })
}

const sessionHeader = 'mcp-session-id'

interface Session {
  id: string
  /** Of the names of its runs. */
  beginning: string
}

/** Another one's requests do not reach it. Without a session a client cannot cancel, other than by closing its connection. */
const sessionOf = (request: FastifyRequest): Session | undefined => {
  const id = request.headers[sessionHeader]
  if (typeof id !== 'string') return undefined
  const { role, user } = identityOf(request)
  return { id, beginning: `${JSON.stringify([role, user?.name ?? null, id])} ` }
}

const nameIn = ({ beginning }: Session, id: string | number): string => beginning + JSON.stringify(id)

/** What a request is about. */
interface Asked {
  session: Session | undefined
  told: Told
  /** Undefined of a client that waits for what changes. */
  stopping: AbortSignal | undefined
}

/** Makes what serves one request. */
const servingMaker = (app: FastifyInstance, options: McpRoutesOptions, runs: HttpRuns) => {
  const onFault = (error: unknown) => app.log.warn({ err: error }, 'an MCP request failed')
  const load = partsLoader()
  const known = new WeakMap<Rights, Tools>()
  /** Whether one may be run is asked again with each run. */
  const toolsOf = (rights: Rights, { compiles }: Parts): Tools => {
    const { readings, isNamed } = options
    const tools = known.get(rights) ?? new Tools({ readings, mayRun: rights.runs, isNamed, compiles })
    known.set(rights, tools)
    return tools
  }
  return async (request: FastifyRequest, { session, told, stopping }: Asked): Promise<Serving> => {
    const parts = await load()
    const tools = toolsOf(rightsOf(request), parts)
    const begin = runBeginner(app, options, request)
    const cancelled = new Map(told.calls.map(id => [id, new AbortController()]))
    const givenUp = (id: string | number) => cancelled.get(id)?.signal
    const calling = { begin, givenUp, ...(stopping && { stopping }) }
    const server = makeToolServer({ sdk: parts.sdk, hub: options.hub, tools, onFault, ...calling })
    const leaves = [...cancelled].map(([id, cancel]) =>
      // Who cancels is not to be answered, as far as nothing else is.
      runs.add(session ? nameIn(session, id) : randomUUID(), () =>
        told.isAlone ? void server.close() : cancel.abort(),
      ),
    )
    if (!stopping) leaves.push(tellOfChanges(server, tools, onFault))
    return {
      server,
      transport: new parts.Transport({}),
      ...(!stopping && { listener: identityOf(request).token }),
      onEnd: () => {
        for (const leave of leaves) leave()
      },
    }
  }
}

const partsLoader = () => {
  let loading: Promise<Parts> | undefined
  return (): Promise<Parts> => {
    loading ??= loadParts().catch(error => {
      loading = undefined
      throw error
    })
    return loading
  }
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
const runBeginner = (app: FastifyInstance, { limits }: McpRoutesOptions, request: FastifyRequest) => {
  const audit = auditOf(app, 'run')
  return async (task: string, args: unknown) => {
    const startedAt = performance.now()
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
