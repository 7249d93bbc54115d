import type { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { type Hub, HubError, version } from 'pshub'
import { toldOfStop } from '../last-words.ts'
import { answerTo } from '../refusal.ts'
import type { Sdk } from './sdk.ts'
import { callTool, codeOf, failureOf } from './tool-call.ts'
import { type ToldProgress, ToolProgress } from './tool-progress.ts'
import type { Tools } from './tools.ts'

export interface ServerParts {
  sdk: Sdk
  hub: Hub
  tools: Tools
  /**
   * A run is to begin. Returns what is told how it ended: `ok` or the code of its error.
   * @throws Refusal where there are too many
   */
  begin(task: string, args: unknown): Promise<(code: string) => void>
  /** Fires when its client gave up one request of several in a body. */
  givenUp?(requestId: string | number): AbortSignal | undefined
  /** Fires when the service ends. */
  stopping?: AbortSignal
  /** What went wrong here, and nobody else is told. */
  onFault(error: unknown): void
}

/** The server of one connection; it is given its transport. */
export const makeToolServer = (parts: ServerParts): Server => {
  const { sdk, tools, onFault } = parts
  const { ListToolsRequestSchema, CallToolRequestSchema } = sdk.types
  const server = new sdk.Server(
    { name: 'pshub', title: `Tasks of ${parts.hub.namespace}`, version },
    { capabilities: { tools: { listChanged: true } }, jsonSchemaValidator: sdk.validator },
  )
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) =>
    tools.page(params?.cursor).catch(error => {
      throw asProtocolError(sdk, error, onFault)
    }),
  )
  server.setRequestHandler(CallToolRequestSchema, ({ params }, extra) => runTool(parts, params, extra))
  server.onerror = onFault
  return server
}

/** Tells the client when the list of tools has become another one, until the function that is returned is called. */
export const tellOfChanges = (server: Server, tools: Tools, onFault: (error: unknown) => void): (() => void) =>
  tools.onChange(() => void server.sendToolListChanged().catch(onFault))

const runTool = async (
  { sdk, hub, tools, begin, givenUp, stopping, onFault }: ServerParts,
  { name, arguments: given }: { name: string; arguments?: Record<string, unknown> | undefined },
  { signal, requestId, _meta: meta, sendNotification }: Extra,
) => {
  const progress = progressOf(meta?.progressToken, sendNotification)
  const signals = [signal, stopping, givenUp?.(requestId)].filter(each => each !== undefined)
  let end: (code: string) => void = () => undefined
  try {
    const known = await tools.find(name)
    if (!known) {
      const { McpError, ErrorCode } = sdk.types
      const shown = JSON.stringify(name.slice(0, 100))
      throw new McpError(ErrorCode.InvalidParams, `There is no tool ${shown}; list the tools to see the current ones.`)
    }
    end = await begin(known.task, given)
    const result = await callTool(hub, known, given, { signal: AbortSignal.any(signals), progress })
    end('ok')
    return result
  } catch (thrown) {
    if (thrown instanceof sdk.types.McpError) throw thrown
    end(codeOf(thrown))
    if (codeOf(thrown) === 'Internal') onFault(thrown)
    return failureOf(toldOfStop(thrown, stopping))
  } finally {
    progress?.end()
  }
}

/** What the SDK tells of a request, as far as it matters here. */
interface Extra {
  signal: AbortSignal
  requestId: string | number
  _meta?: { progressToken?: string | number | undefined } | undefined
  sendNotification(notification: { method: 'notifications/progress'; params: ToldProgress & Token }): Promise<void>
}
interface Token {
  progressToken: string | number
}

/** Undefined where the client gave no token to tell it by. */
const progressOf = (
  progressToken: string | number | undefined,
  send: Extra['sendNotification'],
): ToolProgress | undefined =>
  progressToken === undefined
    ? undefined
    : new ToolProgress(told => send({ method: 'notifications/progress', params: { ...told, progressToken } }))

const asProtocolError = (
  { types: { McpError, ErrorCode } }: Sdk,
  error: unknown,
  onFault: (error: unknown) => void,
) => {
  if (!(error instanceof HubError)) onFault(error)
  return new McpError(ErrorCode.InternalError, answerTo(error).body.detail)
}
