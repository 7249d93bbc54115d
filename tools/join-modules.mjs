// Puts the modules of the package together in few files: to find and open two hundred and more takes a process longer than to run them.
// Measured on two busy cores: `import 'pshub'` took 279 ms of time and 383 of processor, and takes 169 and 207 this way. Node loads what is
// imported late (a command of the command line, hot-shots) late, as before. The single modules stay beside them, for our own tools, and
// `unjoined.mjs` is what imports those: the fault suite looks into them, and plants bugs.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { root } from './prepare.mjs'

/** What is run or imported from outside. The thread's file is looked for beside the code that starts threads. */
const entryPoints = {
  index: 'index.js',
  http: 'http/index.js',
  testing: 'testing/index.js',
  'cli/main': 'cli/main.js',
  thread: 'worker/threads/thread.js',
  'schema-diff': 'schema-diff/index.js',
}

/** `import './chunk.js'` keeps an order of side effects. There are none, as package.json says, and bundlers warn of such an import. */
const isForSideEffects = /^import "[^"]+";\n/gm

export const joinModules = async dist => {
  copyFileSync(join(dist, 'index.js'), join(dist, 'unjoined.mjs'))
  const { outputFiles } = await build({
    absWorkingDir: root,
    entryPoints: Object.fromEntries(Object.entries(entryPoints).map(([name, file]) => [name, join(dist, file)])),
    outdir: dist,
    chunkNames: '[name]-[hash]',
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    packages: 'external',
    legalComments: 'none',
    logLevel: 'warning',
    write: false,
  })
  for (const { path, text } of outputFiles) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text.replace(isForSideEffects, ''))
  }
}
