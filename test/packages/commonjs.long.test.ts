import { cpSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { otherTypeScripts } from '../../tools/other-typescripts.mjs'
import { root } from '../support/cli-fixture.ts'
import { npmInstall, run, usePacked } from '../support/packed.ts'
import { programOf } from './type-programs.ts'

/** A project in TypeScript that is compiled to `require`, as those of NestJS and older ones of Express are, and one of ES modules. */
const packed = usePacked()

const app = `import { defineTask, Hub, HubError } from 'pshub'
import { problemOf } from 'pshub/http'
import { compareSchemas } from 'pshub/schema-diff'
import { inMemory } from 'pshub/testing'
import { registryHandler } from 'pshub-registry'

const half = defineTask('half:1.0', {
  args: { type: 'object', properties: { n: { type: 'integer' } }, required: ['n'] },
  result: { type: 'number' },
}, ({ n }) => n / 2)
const main = async (): Promise<void> => {
  const kit = await inMemory({ tasks: [half] })
  const hub: Hub = kit.hub
  const answer: number = await hub.call(half, { n: 3 })
  const error: unknown = await hub.call('half:1.0', { n: 'a' }).catch(thrown => thrown)
  const changes = compareSchemas({ type: 'number' }, { type: 'string' }, 'args')
  console.log(answer, error instanceof HubError, problemOf(error)?.status, changes.length, typeof registryHandler)
  await kit.close()
}
void main()
`
const printed = '1.5 true 400 2 function'
const strict = ['--strict', '--target', 'es2022', '--types', 'node', '--outDir', 'out', '--pretty', 'false']

let installed: string
beforeAll(async () => {
  installed = packed.project('installed', { 'package.json': '{}' })
  const tarballs = [await packed.tarball('pshub'), await packed.tarball('pshub-registry')]
  await run('npm', [...npmInstall, ...tarballs], { cwd: installed })
  for (const name of ['@types', 'wasmoon-lua5.1'])
    symlinkSync(join(root, 'node_modules', name), join(installed, 'node_modules', name))
}, 300_000)

/** What the compiled program prints. */
const compiledAndRun = async (name: string, compiler: string, manifest: string, options: string[]): Promise<string> => {
  const cwd = packed.project(name, { 'package.json': manifest, 'app.ts': app })
  cpSync(join(installed, 'node_modules'), join(cwd, 'node_modules'), { recursive: true, verbatimSymlinks: true })
  const { stdout } = await run(process.execPath, [compiler, ...strict, ...options, 'app.ts'], { cwd }).catch(
    error => error,
  )
  expect(stdout).toBe('')
  return (await run(process.execPath, ['out/app.js'], { cwd })).stdout.trim()
}

// pino's own types need the last one.
const node10 = ['--module', 'commonjs', '--moduleResolution', 'node10', '--esModuleInterop']
const newer = otherTypeScripts().map(({ name, path, reason }) => ({ name, path, reason, options: node10 }))
const compilers = [
  { name: 'typescript-5.4', path: programOf('typescript-5.4'), reason: undefined, options: node10 },
  ...newer,
  { name: 'typescript', path: programOf('typescript'), reason: undefined, options: ['--module', 'commonjs'] },
]

const timeout = 240_000

for (const { name, path, reason, options } of compilers)
  it(`a CommonJS project that ${name} compiles has all entry points`, { timeout }, async ({ skip }) => {
    if (path === undefined) return skip(reason)
    expect(await compiledAndRun(`commonjs-${name}`, path, '{}', options)).toBe(printed)
  })

it('a project of ES modules that the newest TypeScript compiles has them too', { timeout }, async () => {
  const manifest = '{"type":"module"}'
  const options = ['--module', 'nodenext']
  expect(await compiledAndRun('modules', programOf('typescript'), manifest, options)).toBe(printed)
})
