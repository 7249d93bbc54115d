import { execFile } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { ensureBuild, root } from '../support/cli-fixture.ts'
import { tokens, useRegistry } from '../support/registry-fixture.ts'
import { mainProgram, type Way, ways } from '../support/tool-client.ts'

const fixture = useRegistry()
/** Where the packages that it needs are found from, as from anywhere here. */
let folder: string
const add = defineTask(
  'add:1.0',
  {
    args: { type: 'object', properties: { a: { type: 'number' }, b: { type: 'number' } }, required: ['a', 'b'] },
    result: { type: 'object', properties: { sum: { type: 'number' } }, required: ['sum'] },
  },
  ({ a, b }) => ({ sum: a + b }),
)

/** What the protocol's own inspector prints of a request. */
const inspected = async (way: Way, ...request: string[]) => {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [join(folder, 'cli/build/cli.js'), '--cli', ...(await serverOf(way)), ...request],
    { cwd: root },
  )
  return JSON.parse(stdout)
}

const serverOf = async (way: Way): Promise<string[]> => {
  if (way === 'http') {
    const { at } = await fixture.registry()
    return [at('mcp'), '--transport', 'http', '--header', `Authorization: Bearer ${tokens.run}`]
  }
  ensureBuild()
  const set = [`PSHUB_REDIS=${fixture.url}`, `PSHUB_NAMESPACE=${fixture.namespace}`].flatMap(each => ['-e', each])
  return [process.execPath, mainProgram, 'mcp', ...set]
}

/** As it lies in the package of the inspector, whose other parts are pages of 120 MB: it reads the version of the whole. */
beforeAll(() => {
  mkdirSync(join(root, 'test/artifacts'), { recursive: true })
  folder = mkdtempSync(join(root, 'test/artifacts/inspector-'))
  const source = join(root, 'node_modules/@modelcontextprotocol/inspector-cli')
  cpSync(source, join(folder, 'cli'), { recursive: true })
  copyFileSync(join(source, 'package.json'), join(folder, 'package.json'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe.each(ways)("the protocol's inspector, over %s", way => {
  it('lists tools and calls one', { timeout: 60_000 }, async () => {
    await fixture.worker([add])
    const { tools } = await inspected(way, '--method', 'tools/list')
    expect(tools).toMatchObject([{ name: 'add_1_0', title: 'add:1.0', annotations: { destructiveHint: false } }])
    const call = ['--method', 'tools/call', '--tool-name', 'add_1_0', '--tool-arg', 'a=1', '--tool-arg', 'b=2']
    expect(await inspected(way, ...call)).toEqual({
      content: [{ type: 'text', text: '{"sum":3}' }],
      structuredContent: { sum: 3 },
    })
  })
})
