import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ensureBuild, root } from '../support/cli-fixture.ts'
import { codeBlocks } from '../support/code-blocks.ts'

/** The types of the package as a strict project of its users meets them, by the newest compiler and by the oldest that is supported. */
const compilers = [
  ['7', 'typescript'],
  ['5.4', 'typescript-5.4'],
] as const

/** Of schemas. */
const libraries = ['zod', 'valibot', '@valibot', 'arktype', 'typebox', '@sinclair']

const programOf = (name: string): string => {
  try {
    return createRequire(import.meta.url).resolve(`${name}/bin/tsc`)
  } catch {
    // Without a package.json that exports it.
    const path = join(root, 'node_modules', name, 'bin/tsc')
    if (existsSync(path)) return path
    throw new Error(`${name} is not installed, so these types are untried: npm ci`)
  }
}

let folder: string

beforeAll(() => {
  ensureBuild()
  folder = mkdtempSync(join(tmpdir(), 'pshub-types-'))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(root, join(folder, 'node_modules/pshub'))
  for (const name of ['pshub-registry', '@types', 'fastify', ...libraries])
    symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name))
}, 120_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const options = [
  '--noEmit',
  '--strict',
  '--target',
  'es2022',
  '--lib',
  'es2022',
  '--module',
  'nodenext',
  '--types',
  'node',
  '--pretty',
  'false',
]

/** What the compiler says of these files, a line for each message. */
const compile = (name: string, files: Record<string, string>, ...further: string[]): string[] => {
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text)
  const args = [programOf(name), ...options, ...further, ...Object.keys(files)]
  const { stdout, status } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  const lines = stdout.split('\n').filter(line => line !== '')
  if (status !== 0 && lines.length === 0) throw new Error(`the compiler ended with ${status} and said nothing`)
  return lines
}

const usesIn = (name: string) => readFileSync(join(root, `test/packages/${name}.ts`), 'utf8')
const uses = usesIn('typed-uses')

const declared = `import { defineTask, Hub, type TaskContext } from 'pshub'
declare const hub: Hub
declare const ctx: TaskContext
const args = { type: 'object', properties: { width: { type: 'integer' }, mode: { enum: ['fit', 'fill'] } }, required: ['width'],
  additionalProperties: false } as const
const resize = defineTask('resize:1.0', { args }, ({ width }) => ({ width }))
const contract = defineTask('contract:1.0', { args, result: { type: 'number' } })
`
const unknownField = /^'widht' does not exist in type '\{ width: number; .*\}'. Did you mean to write 'width'\?$/

/** A line of code, what of it the message points at, and what the message says. */
const mistakes: [code: string, place: string, message: RegExp][] = [
  ['hub.call(resize, { widht: 1 })', 'widht', unknownField],
  ['hub.call(resize, { width: 1, widht: 1 })', 'widht', unknownField],
  ['hub.call(contract, { width: 1, widht: 1 })', 'widht', unknownField],
  ["hub.call(resize, { width: '1' })", 'width', /^Type 'string' is not assignable to type 'number'\.$/],
  ['hub.call(resize, { width: 1 }, { timeout: 5 })', 'timeout', /^'timeout' does not exist in type .*'timeoutMs'\?$/],
  ["hub.call('resize', {}, { timeoutMs: 5, que: 'q' })", 'que', /^'que' does not exist in type/],
  ['hub.call(resize)', 'call', /^Expected 2-3 arguments, but got 1\.$/],
  ['hub.call(7)', '7', /^Argument of type 'number' is not assignable to parameter of type 'string \| Declaration/],
  ['ctx.call(resize, { widht: 1 })', 'widht', unknownField],
  ['ctx.call(resize, { width: 1 }, { phases: true })', 'phases', /^'phases' does not exist in type/],
  ['hub.gather({ a: [resize, { width: 1, widht: 1 }] })', 'widht', unknownField],
  ['hub.gather({ a: [resize, { width: 1 }, { timeout: 1 }] })', 'timeout', /'timeoutMs'\?$/],
  ['hub.enqueue(resize, { widht: 1 })', 'widht', unknownField],
  ['hub.enqueue(resize, { width: 1 }, { delay: 5 })', 'delay', /^'delay' does not exist in type 'EnqueueOptions'/],
  ['hub.enqueueMany([[resize, { width: 1, widht: 1 }]])', 'widht', unknownField],
  ['hub.chain([[resize, { width: 1, widht: 1 }]])', 'widht', /'widht' does not exist in type/],
  ['hub.batch([[resize, { width: 1, widht: 1 }]])', 'widht', unknownField],
  ["hub.schedule('n', { cron: '@daily' }, resize, { widht: 1 })", 'widht', unknownField],
  ["defineTask('a:1.0', { timeout: 5 }, () => 1)", 'timeout', /'timeoutMs'\?$/],
  [
    "defineTask('a:1.0', { args }, ({ widht }) => 1)",
    'widht',
    /^Property 'widht' does not exist on type '\{ width: number;/,
  ],
  [
    "defineTask('a:1.0', { result: { type: 'number' } }, () => 'a')",
    "'a'",
    /^Type 'string' is not assignable to type 'number/,
  ],
  ["contract.handler(() => 'a')", "'a'", /^Type 'string' is not assignable to type 'number/],
]

describe.each(compilers)('by TypeScript %s', (_, name) => {
  it('the types of what is called follow from the task', { timeout: 240_000 }, () => {
    expect(compile(name, { 'uses.mts': uses })).toEqual([])
    expect(compile(name, { 'uses.mts': uses }, '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess')).toEqual(
      [],
    )
  })

  it('a hub that was told of its tasks knows them by their names', { timeout: 240_000 }, () => {
    expect(compile(name, { 'hub.mts': usesIn('typed-hub') })).toEqual([])
  })

  // Types of the libraries themselves are not always fit for the older compiler.
  it('schemas of libraries give types to handlers and callers', { timeout: 240_000 }, () => {
    expect(compile(name, { 'libraries.mts': usesIn('typed-libraries') }, '--skipLibCheck')).toEqual([])
  })

  it('the message of a mistake is about that, and points at it', { timeout: 240_000 }, () => {
    const lines = declared.split('\n').length
    const said = compile(name, { 'mistakes.mts': `${declared}${mistakes.map(([code]) => code).join('\n')}\n` })
    for (const [at, [code, place, message]] of mistakes.entries()) {
      const own = said.flatMap(line => /^mistakes\.mts\((\d+),(\d+)\): error TS\d+: (.*)$/.exec(line)?.slice(1) ?? [])
      const found = own.flatMap((text, i) =>
        i % 3 === 0 && Number(text) === lines + at ? [[own[i + 1], own[i + 2]]] : [],
      )
      expect(found, `${code}\n${said.join('\n')}`).toHaveLength(1)
      const [column, text] = found[0]!
      expect(code.slice(Number(column) - 1), code).toMatch(new RegExp(`^${place.replace(/[.'[\]]/g, '\\$&')}`))
      expect(text!.replace(/^Object literal may only specify known properties, (and|but) /, ''), code).toMatch(message)
    }
  })

  it('a kit for tests has the types of what it is given', { timeout: 120_000 }, () => {
    const text = `import { defineTask } from 'pshub'
import { type InMemory, inMemory } from 'pshub/testing'
const add = defineTask('add:1.0', { args: { type: 'object', properties: { a: { type: 'integer' } }, required: ['a'] } }, ({ a }) => a + 1)
const kit: InMemory = await inMemory({ tasks: [add], jobs: 'inline', worker: { slots: 4 } })
const sum: number = await kit.hub.call(add, { a: 1 })
const due: number = kit.expectEnqueued(add, { a: sum }).dueMs
const runs: number = await kit.drain({ timeoutMs: due })
await kit.redis.goAway()
kit.worker.die()
await kit.clock.advance(runs)
await kit.clock.advance('1h')
await inMemory({ jobs: 'later' })
`
    const said = compile(name, { 'kit.mts': text })
    expect(said.map(line => line.replace(/\).*/, ''))).toEqual(['kit.mts(11,25', 'kit.mts(12,18'])
  })

  it('what README, docs and examples show compiles', { timeout: 240_000 }, () => {
    const given = readFileSync(join(root, 'test/packages/given-to-snippets.ts'), 'utf8')
    const files = Object.fromEntries(
      codeBlocks()
        // Code of tests is JavaScript with files of its own: testing-document.test.ts runs it.
        .filter(
          ({ document, language, isOutline }) => language === 'js' && !isOutline && document !== 'docs/testing.md',
        )
        .map(({ document, line, text }) => [`${document.replaceAll('/', '-')}-${line}.mts`, `${text}\nexport {}\n`]),
    )
    for (const example of ['first-task', 'web-handler'])
      files[`${example}.mts`] = readFileSync(join(root, `examples/${example}.mjs`), 'utf8')
    expect(Object.keys(files).length).toBeGreaterThan(15)
    expect(compile(name, { 'given.mts': given, ...files })).toEqual([])
  })
})
