/** The two ways of writing tasks that `pshub init` knows. */
export type Language = 'ts' | 'js'

const taskOf: Record<Language, string> = {
  ts: `import { defineTask } from 'pshub'
import { z } from 'zod'

// Arguments are checked before a call is sent, results before they go back. TypeScript knows the types of both.
export const greet = defineTask('greet:1.0', {
  description: 'Greets somebody.',
  args: z.object({ name: z.string().min(1), times: z.int().min(1).max(10).optional() }),
  result: z.object({ text: z.string() }),
  idempotent: true,
}, ({ name, times = 1 }) => ({ text: Array(times).fill(\`Hello, \${name}!\`).join(' ') }))
`,
  js: `import { defineTask } from 'pshub'

// Arguments are checked before a call is sent, results before they go back. An editor knows the types of both.
export const greet = defineTask('greet:1.0', {
  description: 'Greets somebody.',
  args: {
    type: 'object',
    properties: { name: { type: 'string', minLength: 1 }, times: { type: 'integer', minimum: 1, maximum: 10 } },
    required: ['name'],
    additionalProperties: false,
  },
  result: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
  idempotent: true,
}, ({ name, times = 1 }) => ({ text: Array(times).fill(\`Hello, \${name}!\`).join(' ') }))
`,
}

const testOf = (module: string): string => `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inMemory } from 'pshub/testing'
import { greet } from './${module}'

test('greets as often as you like', async () => {
  const { hub, close } = await inMemory({ tasks: [greet] })
  assert.deepEqual(await hub.call(greet, { name: 'Ada', times: 2 }), { text: 'Hello, Ada! Hello, Ada!' })
  await close()
})
`

const compilerOf: Record<Language, object> = {
  ts: { allowImportingTsExtensions: true },
  js: { allowJs: true, checkJs: true },
}

const manifestOf: Record<Language, { scripts: Record<string, string>; [field: string]: unknown }> = {
  ts: {
    scripts: { dev: 'pshub dev tasks.ts', test: 'node --import tsx --test tasks.test.ts', check: 'tsc' },
    dependencies: { zod: '^4.2.0' },
    devDependencies: {
      '@types/node': '^20.19.0',
      tsx: '^4.20.0',
      typescript: '^5.9.0',
      'wasmoon-lua5.1': '^1.18.10',
    },
  },
  js: {
    scripts: { dev: 'pshub dev tasks.mjs', test: 'node --test', check: 'tsc' },
    devDependencies: { '@types/node': '^20.19.0', typescript: '^5.9.0', 'wasmoon-lua5.1': '^1.18.10' },
  },
}

const readmeOf = (module: string): string => `# Tasks

- \`npm install\` installs what the tasks and their tests need.
- \`npm run dev\` starts a Redis, a worker and the pages. The worker reloads when you change ${module}.
- \`npx pshub call greet '{"name": "Ada"}'\` calls the task from another terminal.
- \`npm test\` runs the tests, without Redis.
- \`npm run check\` checks the types.
`

const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`

/** What npm itself writes into an empty folder. */
const ofNpm = ['dependencies', 'devDependencies']

/**
 * package.json with what the first files need, or undefined where it is somebody's own.
 * @param present its text; undefined: there is none
 */
export const firstManifest = (language: Language, present: string | undefined): string | undefined => {
  const given: Record<string, object> = present === undefined ? {} : parsed(present)
  if (Object.keys(given).some(field => !ofNpm.includes(field))) return undefined
  const { scripts, ...packages } = manifestOf[language]
  const merged = Object.entries(packages).map(([field, wanted]) => [field, { ...(wanted as object), ...given[field] }])
  return json({ private: true, type: 'module', scripts, ...given, ...Object.fromEntries(merged) })
}

/** One that cannot be read is somebody's own, too. */
const parsed = (text: string): Record<string, object> => {
  try {
    return JSON.parse(text)
  } catch {
    return { unreadable: {} }
  }
}

/** What `npm install` is to be given where package.json was left alone. */
export const firstPackages = (language: Language): string => {
  const { dependencies = {}, devDependencies = {} } = manifestOf[language]
  const production = Object.keys(dependencies as object)
  const installed = production.length > 0 ? `npm install ${production.join(' ')} && ` : ''
  return `${installed}npm install --save-dev ${Object.keys(devDependencies as object).join(' ')}`
}

/** What else `pshub init` writes: a task, its test, what checks their types, and what to type. The task comes first. */
export const firstFiles = (language: Language): Readonly<Record<string, string>> => {
  const ending = language === 'ts' ? 'ts' : 'mjs'
  const module = `tasks.${ending}`
  return {
    [module]: taskOf[language],
    [`tasks.test.${ending}`]: testOf(module),
    'tsconfig.json': json({
      compilerOptions: {
        ...compilerOf[language],
        strict: true,
        noEmit: true,
        target: 'es2023',
        lib: ['es2023', 'esnext.disposable'],
        module: 'nodenext',
        types: ['node'],
        skipLibCheck: true,
      },
      include: [`*.${ending}`],
    }),
    'README.md': readmeOf(module),
  }
}
