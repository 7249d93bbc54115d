/** What `pshub init` writes: a task, its test, what checks their types, and what to type. */
export const firstFiles: Readonly<Record<string, string>> = {
  'package.json': `{
  "private": true,
  "type": "module",
  "scripts": {
    "dev": "pshub dev tasks.mjs",
    "test": "node --test"
  }
}
`,
  'tasks.mjs': `import { defineTask } from 'pshub'

// The schema is checked before a call is sent, and gives the handler its types: an editor knows that name is a string.
export const greet = defineTask('greet:1.0', {
  description: 'Greets somebody.',
  args: {
    type: 'object',
    properties: { name: { type: 'string', minLength: 1 }, times: { type: 'integer', minimum: 1, maximum: 10 } },
    required: ['name'],
    additionalProperties: false,
  },
  idempotent: true,
}, ({ name, times = 1 }) => ({ text: Array(times).fill(\`Hello, \${name}!\`).join(' ') }))
`,
  'tasks.test.mjs': `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inMemory } from 'pshub/testing'
import { greet } from './tasks.mjs'

test('greets as often as one likes', async () => {
  const { hub, close } = await inMemory({ tasks: [greet] })
  assert.deepEqual(await hub.call(greet, { name: 'Ada', times: 2 }), { text: 'Hello, Ada! Hello, Ada!' })
  await close()
})
`,
  'tsconfig.json': `{
  "compilerOptions": {
    "allowJs": true,
    "checkJs": true,
    "strict": true,
    "noEmit": true,
    "target": "es2023",
    "lib": ["es2023", "esnext.disposable"],
    "module": "nodenext",
    "types": ["node"],
    "skipLibCheck": true
  },
  "include": ["*.mjs"]
}
`,
  'README.md': `# Tasks

- \`npx pshub dev tasks.mjs\` serves them, with a Redis and pages; it follows each change of a file.
- \`npx pshub call greet '{"name": "Ada"}'\` calls one from another terminal.
- \`node --test\` runs the tests, without Redis. Once before: \`npm install --save-dev wasmoon-lua5.1\`
- \`npx tsc\` checks the types. Once before: \`npm install --save-dev typescript @types/node\`

The tasks are JavaScript, which every Node runs as it is; their types come from the schemas, and from JSDoc where you write it.
Node 22.18 and newer run \`tasks.ts\` as well: rename it, and name it so to \`pshub dev\`.
`,
}
