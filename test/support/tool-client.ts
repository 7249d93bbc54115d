import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js'
import type { CallToolResult } from '@modelcontextprotocol/sdk/types.js'
import type { Role } from '../../registry/contract.ts'
import { defineTask } from '../../src/index.ts'
import { ensureBuild, root } from './cli-fixture.ts'
import { bearer, type RegistryFixture } from './registry-fixture.ts'

/** How an agent comes to the tools. */
export type Way = 'stdio' | 'http'
export const ways: Way[] = ['stdio', 'http']

/** A client of the SDK's own, connected; it goes at the end of the test. */
export const toolClient = async (fixture: RegistryFixture, way: Way, runTasks?: string): Promise<Client> => {
  const client = new Client({ name: 'test', version: '1.0.0' })
  if (way === 'stdio') await client.connect(stdioTransport(fixture, runTasks))
  else {
    const running = await fixture.registry(runTasks === undefined ? {} : { runTasks: runTasks.split(',') })
    await client.connect(httpTransport(running.at('mcp')) as never)
  }
  fixture.onEnd(() => client.close())
  return client
}

export const httpTransport = (url: string, role: Role = 'run', over?: FetchLike) =>
  new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: bearer(role) },
    ...(over && { fetch: over }),
  })

export const mainProgram = join(root, 'dist/cli/main.js')

export const stdioTransport = ({ url, namespace }: RegistryFixture, runTasks?: string) => {
  ensureBuild()
  return new StdioClientTransport({
    command: process.execPath,
    args: [mainProgram, 'mcp', ...(runTasks === undefined ? [] : ['--run-tasks', runTasks])],
    env: { PATH: process.env.PATH!, PSHUB_REDIS: url, PSHUB_NAMESPACE: namespace },
    cwd: root,
  })
}

/** What a failed run told the model. */
export const failureIn = (result: unknown) => {
  const { isError, content, structuredContent } = result as CallToolResult
  if (isError !== true || structuredContent !== undefined) throw new Error(`no failure: ${JSON.stringify(result)}`)
  return JSON.parse((content[0] as { text: string }).text).error
}

/** A task that runs until it is given up, and what was seen of it. */
export const waiting = () => {
  const seen: string[] = []
  const task = defineTask('wait:1.0', { timeoutMs: 60_000 }, (_args, { signal }) => {
    seen.push('begun')
    return new Promise<string>(resolve =>
      signal.addEventListener('abort', () => {
        seen.push('aborted')
        resolve('over')
      }),
    )
  })
  return { task, seen }
}
