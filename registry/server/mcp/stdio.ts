import { ConfigError, makeLogger, readSettings, type Settings } from 'pshub'
import { makeHub, type RegistryOptions } from '../plugin.ts'
import { Readings } from '../readings.ts'
import { Refusal } from '../refusal.ts'
import { matcher } from '../rules.ts'
import { StdioTransport } from './exact-messages.ts'
import { loadServer } from './sdk.ts'
import { makeToolServer, tellOfChanges } from './server.ts'
import { compiler, Tools } from './tools.ts'

/** `runTasks` says which tasks are tools; dangerous ones are only those that it names without a `*`. */
export interface ToolsOverStdioOptions
  extends Pick<RegistryOptions, 'redis' | 'namespace' | 'runTasks'>,
    Partial<Pick<Settings, 'logLevel' | 'logFormat'>> {}

export interface RunningTools {
  /** Resolves when the client has gone: stdin is at its end. */
  ended: Promise<void>
  close(): Promise<void>
}

/** Runs of the one client that have begun and not ended. */
const maxUnderWay = 32

const nobody = { onReading: () => undefined, onProblem: () => undefined }

/**
 * Live tasks as tools of the Model Context Protocol, for the agent that has started this process and is at its stdin and stdout.
 * @throws ConfigError
 */
export const serveToolsOverStdio = async (options: ToolsOverStdioOptions = {}): Promise<RunningTools> => {
  const setup = readSettings('registry', { options: { ...options }, env: process.env })
  if (setup.readOnly) throw new ConfigError('readOnly is set: no task may run, so there are no tools.')
  const sdk = await loadServer()
  const log = makeLogger(setup)
  const hub = makeHub(setup, { name: 'mcp' })
  const readings = new Readings(hub, nobody)
  const mayRun = matcher(setup.runTasks)
  const isNamed = (task: string) => setup.runTasks.includes(task)
  const tools = new Tools({ readings, mayRun, isNamed, compiles: compiler(sdk) })
  const onFault = (error: unknown) => log.warn({ err: error }, 'the MCP client failed')
  const server = makeToolServer({ sdk, hub, tools, begin: underWayLimit(), onFault })
  let leave: (() => void) | undefined
  server.oninitialized = () => {
    leave ??= tellOfChanges(server, tools, onFault)
  }
  server.onclose = () => leave?.()
  const ended = new Promise<void>(resolve => {
    for (const event of ['end', 'close', 'error']) process.stdin.once(event, () => resolve())
  })
  // Who no longer reads is gone.
  process.stdout.on('error', () => process.stdin.destroy())
  await server.connect(new StdioTransport(sdk) as never)
  return {
    ended,
    close: async () => {
      readings.close()
      await server.close()
      await hub.close()
    },
  }
}

const underWayLimit = () => {
  let underWay = 0
  return async () => {
    if (underWay >= maxUnderWay)
      throw new Refusal(429, 'TooManyRequests', `${underWay} runs are in flight; wait until some have ended.`)
    underWay++
    return () => void underWay--
  }
}
