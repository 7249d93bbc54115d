import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transformSync } from 'esbuild'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { defineTask } from '../../src/index.ts'
import { onPath } from '../../tools/apt.mjs'
import { type Block, codeBlocks } from '../support/code-blocks.ts'
import { run as install, nodeProject, npmInstall, usePacked } from '../support/packed.ts'
import { read } from '../support/protocol-document.ts'
import { tokens, useRegistry } from '../support/registry-fixture.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const packed = usePacked()
const fixture = useRegistry()
const blocks = codeBlocks()
const ofLanguage = (language: string, isOutline: boolean) =>
  blocks.filter(block => block.language === language && block.isOutline === isOutline && !isOfTests(block))
/** Code of tests, which test runners run: test/packages/testing-document.long.test.ts. */
const isOfTests = ({ document, language, isOutline }: Block) =>
  document === 'docs/testing.md' && language === 'js' && !isOutline

let folder: string
let children: ChildProcess[] = []

/** A reader's folder: empty, but for what README has them install, and docs/tasks-and-workers.md for threads. */
beforeAll(async () => {
  folder = packed.project('reader', nodeProject)
  const tarballs = await Promise.all((['pshub', 'pshub-registry'] as const).map(name => packed.tarball(name)))
  await install('npm', [...npmInstall, ...tarballs], { cwd: folder })
  symlinkSync(join(root, 'node_modules/zod'), join(folder, 'node_modules/zod'))
}, 180_000)
afterEach(() => {
  for (const { pid } of children) if (pid !== undefined) process.kill(-pid, 'SIGKILL')
  children = []
})

const environment = () => ({
  PATH: [join(folder, 'node_modules/.bin'), dirname(process.execPath), process.env.PATH].join(delimiter),
  HOME: folder,
  PSHUB_REDIS: fixture.url,
  PSHUB_NAMESPACE: fixture.namespace,
  PSHUB_LOG_LEVEL: 'error',
  ADMIN_TOKEN: tokens.admin,
  TOKEN: tokens.run,
})

/** With the addresses of this test in the place of those that a reader has. */
const here = (text: string, registry = 'http://127.0.0.1:7421') =>
  text
    .replaceAll('redis://127.0.0.1:6379', fixture.url)
    .replaceAll('http://127.0.0.1:7421', registry.replace(/\/$/, ''))
    .replace('port: 3000', 'port: 0')

const run = (program: string, ...args: string[]) =>
  new Promise<{ status: number | null; said: string }>(resolve => {
    const child = spawn(program, args, { cwd: folder, env: environment(), detached: true })
    children.push(child)
    let said = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', chunk => (said += chunk))
    child.once('close', status => {
      children.splice(children.indexOf(child), 1)
      resolve({ status, said })
    })
  })

/** A machine may be busy. */
const waiting = { timeout: 60_000 }

const place = ({ document, line }: Block) => `${document}:${line}`

/** README's first task, which is TypeScript, is run by test/packages/first-task.test.ts. */
const shellBlocks = ofLanguage('sh', false).filter(({ document }) => document !== 'README.md')

describe('code in README and docs', () => {
  it('computes in threads', async () => {
    const block = ofLanguage('js', false).find(({ text }) => text.includes('threads:'))
    writeFileSync(join(folder, 'primes.mjs'), block!.text)
    const served = run('pshub', 'worker', './primes.mjs')
    const hub = fixture.hub()
    await expect.poll(() => hub.call('primes:1.0', { below: 100 }).catch(error => error.code), waiting).toBe(25)
    for (const { pid } of children) process.kill(-pid!, 'SIGTERM')
    expect((await served).status).toBe(0)
  }, 180_000)

  const modules = [
    ...ofLanguage('js', false),
    ...ofLanguage('ts', false).filter(({ document }) => document !== 'README.md'),
  ]
  it.each(modules.map(block => [place(block), block] as const))(
    '%s runs',
    async (_, { text, language }) => {
      fixture.allowLeftovers()
      writeFileSync(join(folder, 'block.mjs'), transformSync(here(text), { loader: language as 'js' | 'ts' }).code)
      const runner = join(folder, 'run-snippet.mjs')
      writeFileSync(runner, read('test/support/run-snippet.mjs'))
      const { status, said } = await run(process.execPath, runner, join(folder, 'block.mjs'))
      expect(status, said).toBe(0)
      expect(said).not.toMatch(/error/i)
    },
    180_000,
  )

  const isServing = ({ text }: Block) => /^pshub worker /m.test(text)
  const commandLines = shellBlocks.filter(isServing)
  it.each(commandLines.flatMap(({ text }) => text.trim().split('\n')))(
    '`%s` serves',
    async line => {
      writeFileSync(
        join(folder, 'tasks.mjs'),
        "import { defineTask } from 'pshub'\nexport const a = defineTask('a:1.0', {}, () => 7)\n",
      )
      const served = run('sh', '-c', `exec ${line}`)
      const hub = fixture.hub()
      await expect.poll(() => hub.call('a:1.0').catch(error => error.code), waiting).toBe(7)
      for (const { pid } of children) process.kill(-pid!, 'SIGTERM')
      expect((await served).status).toBe(0)
    },
    180_000,
  )

  const shells = shellBlocks.filter(block => !isServing(block))
  it.each(shells.map(block => [place(block), block] as const))(
    '%s runs in a shell',
    async (_, { text }) => {
      if (text.includes('curl') && !onPath('curl')) throw new Error('there is no curl here; install one')
      fixture.allowLeftovers()
      const add = defineTask('add:1.0', {}, args => {
        const { a, b } = args as { a: number; b: number }
        return (a ?? 0) + (b ?? 0)
      })
      const name = defineTask('name:1.0', {}, () => 1)
      await fixture.worker([add, name], { queue: 'mail' })
      const retired = await fixture.worker([defineTask('old:1.0', {}, () => 1)])
      await retired.stop()
      await expect
        .poll(
          () =>
            fixture
              .hub()
              .call('add:1.0', { a: 1, b: 2 })
              .catch(error => error.code),
          waiting,
        )
        .toBe(3)
      const { url } = await fixture.registry()
      // A registry does not end by itself; that it starts is its own tests' affair.
      const lines = here(text, url).replace(/^pshub (registry|trace)\b.*$/gm, '')
      const { status, said } = await run('sh', '-e', '-c', lines)
      expect(status, said).toBe(0)
      expect(said).not.toMatch(/error"|Error:/)
    },
    180_000,
  )

  it.each([
    ['js', 'mjs', process.execPath, ['--check']],
    ['sh', 'sh', 'sh', ['-n']],
    ['ts', 'ts', join(root, 'node_modules/.bin/esbuild'), ['--log-level=error']],
    ['python', 'py', 'python3', ['-m', 'py_compile']],
    ['ruby', 'rb', 'ruby', ['-c']],
  ] as const)('can be parsed where it is an outline in %s', (language, extension, program, args) => {
    if (!existsSync(program) && !onPath(program)) throw new Error(`there is no ${program} here; npm test installs it`)
    const outlines = ofLanguage(language, true)
    expect(outlines.length).toBeGreaterThan(0)
    for (const block of outlines) {
      const file = join(folder, `outline.${extension}`)
      writeFileSync(file, block.text)
      const { status, stderr } = spawnSync(program, [...args, file], { encoding: 'utf8' })
      expect(status, `${place(block)}: ${stderr}`).toBe(0)
    }
  })

  it('names commands and options that there are', async () => {
    const lines = blocks.filter(({ language }) => language === 'sh').flatMap(({ text }) => text.split('\n'))
    const commands = lines.flatMap(line => /^(?:npx )?pshub (\w+)([^#>]*)/.exec(line)?.slice(1, 3) ?? [])
    expect(commands.length).toBeGreaterThan(20)
    const helps = new Map<string, string>()
    for (const command of new Set(commands.filter((_, at) => at % 2 === 0))) {
      const { status, said } = await run('pshub', command, '--help')
      expect(status, command).toBe(0)
      helps.set(command, said)
    }
    for (let at = 0; at < commands.length; at += 2)
      for (const [flag] of commands[at + 1]!.matchAll(/--[\w-]+/g))
        expect(helps.get(commands[at]!), commands[at]).toContain(flag)
  }, 180_000)
})
