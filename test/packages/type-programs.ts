import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'vitest'
import { ensureBuild, root } from '../support/cli-fixture.ts'
import { codeBlocks } from '../support/code-blocks.ts'

/** Schema libraries. */
const libraries = ['zod', 'valibot', '@valibot', 'arktype', 'typebox', '@sinclair']

export const programOf = (name: string): string => {
  // The newest compiler does not export its package.json.
  const path = join(root, 'node_modules', name, 'bin/tsc')
  return existsSync(path) ? path : createRequire(import.meta.url).resolve(`${name}/bin/tsc`)
}

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

/** What the compiler says of these files in a strict project that has installed the package, a line for each message. */
export const compile = (name: string, files: Record<string, string>, ...further: string[]): string[] => {
  ensureBuild()
  const folder = mkdtempSync(join(tmpdir(), 'pshub-types-'))
  try {
    mkdirSync(join(folder, 'node_modules'))
    symlinkSync(root, join(folder, 'node_modules/pshub'))
    for (const part of ['pshub-registry', '@types', 'fastify', ...libraries])
      symlinkSync(join(root, 'node_modules', part), join(folder, 'node_modules', part))
    for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text)
    const args = [programOf(name), ...options, ...further, ...Object.keys(files)]
    const { stdout, status } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
    const lines = stdout.split('\n').filter(line => line !== '')
    if (status !== 0 && lines.length === 0) throw new Error(`the compiler ended with ${status} and said nothing`)
    return lines
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const usesIn = (name: string) => readFileSync(join(root, `test/packages/${name}.ts`), 'utf8')

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
  ['hub.enqueue(resize, { width: 1 }, { delay: 5 })', 'delay', /^'delay' does not exist in type 'EnqueueOptions/],
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

const kit = `import { defineTask } from 'pshub'
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
/** Where the last two lines of it are wrong. */
const wrongInKit = ['kit.mts(11,25', 'kit.mts(12,18']

/** Code in README, docs and examples. Code of tests is JavaScript with files of its own: testing-document.long.test.ts runs it. */
const shown = (): Record<string, string> => {
  const blocks = codeBlocks().filter(
    ({ document, language, isOutline }) => language === 'js' && !isOutline && document !== 'docs/testing.md',
  )
  const files = blocks.map(({ document, line, text }) => [
    `${document.replaceAll('/', '-')}-${line}.mts`,
    `${text}\nexport {}\n`,
  ])
  expect(files.length).toBeGreaterThan(15)
  const examples = ['first-task', 'web-handler'].map(name => [
    `${name}.mts`,
    readFileSync(join(root, `examples/${name}.mjs`), 'utf8'),
  ])
  return Object.fromEntries([...files, ...examples])
}

/** Guides' TypeScript, which uses zod. README's and the tutorial's has files of its own. */
const shownWithZod = (): Record<string, string> =>
  Object.fromEntries(
    codeBlocks()
      .filter(
        ({ document, language, isOutline }) => language === 'ts' && !isOutline && !/README|tutorial/.test(document),
      )
      .map(({ document, line, text }) => [`${document.replaceAll('/', '-')}-${line}.mts`, text]),
  )

/** Uses of the package whose types the compiler can judge without those of schema libraries. */
export const plainUses = (): Record<string, string> => ({
  'uses.mts': usesIn('typed-uses'),
  'hub.mts': usesIn('typed-hub'),
  'mistakes.mts': `${declared}${mistakes.map(([code]) => code).join('\n')}\n`,
  'kit.mts': kit,
  'given.mts': usesIn('given-to-snippets'),
  ...shown(),
})
export const usesOfLibraries = (): Record<string, string> => ({
  'libraries.mts': usesIn('typed-libraries'),
  'given.mts': usesIn('given-to-snippets'),
  ...shownWithZod(),
})

/** Each mistake is an error whose message is about it and points at it, and there is no other error. */
export const expectOnlyMistakes = (said: string[]): void => {
  const first = declared.split('\n').length
  for (const [at, [code, place, message]] of mistakes.entries()) {
    const own = said.flatMap(line => {
      const found = /^mistakes\.mts\((\d+),(\d+)\): error TS\d+: (.*)$/.exec(line)
      return found && Number(found[1]) === first + at ? [{ column: Number(found[2]), text: found[3]! }] : []
    })
    expect(own, `${code}\n${said.join('\n')}`).toHaveLength(1)
    const { column, text } = own[0]!
    expect(code.slice(column - 1), code).toMatch(new RegExp(`^${place.replace(/[.'[\]]/g, '\\$&')}`))
    expect(text.replace(/^Object literal may only specify known properties, (and|but) /, ''), code).toMatch(message)
  }
  const others = said.filter(line => !line.startsWith('mistakes.mts(') && !line.startsWith(' '))
  expect(others.map(line => line.replace(/^(kit\.mts[^)]*)\).*/, '$1'))).toEqual(wrongInKit)
}
