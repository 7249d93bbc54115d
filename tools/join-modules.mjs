// Puts the modules of the package together in few files: to find and open two hundred and more takes a process longer than to run them.
// Two files hold nearly all: what the command line and threads begin with, and the rest of what `import 'pshub'` needs. On two quiet
// cores that import took 141 ms as single modules, 114 as the 41 files that who imports what would divide them into, and takes 89 as
// these. Node loads what is imported late, a command of the command line for one, late, as before. The single modules stay beside
// them, for our own tools, and `unjoined.mjs` is what imports those: the fault suite looks into them, and plants bugs.
import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { rolldown } from 'rolldown'

/** What is run or imported from outside. The thread's file is looked for beside the code that starts threads. */
const entryPoints = {
  index: 'unjoined.mjs',
  http: 'http/index.js',
  testing: 'testing/index.js',
  'cli/main': 'cli/main.js',
  thread: 'worker/threads/thread.js',
  'schema-diff': 'schema-diff/index.js',
}

/** Packages stay what they are. */
const external = id => !id.startsWith('.') && !isAbsolute(id)

/** What a module imports, and what that imports, and so on; what is imported late is none of it. */
const allOf = (from, imports, found = new Set()) => {
  if (found.has(from) || !imports.has(from)) return found
  found.add(from)
  for (const id of imports.get(from)) allOf(id, imports, found)
  return found
}

export const joinModules = async dist => {
  copyFileSync(join(dist, 'index.js'), join(dist, 'unjoined.mjs'))
  const input = Object.fromEntries(Object.entries(entryPoints).map(([name, file]) => [name, join(dist, file)]))
  const imports = new Map()
  /** Asked when all modules are known. */
  const isOf = (...names) => {
    const found = names.map(name => allOf(input[name], imports))
    return id => found.some(each => each.has(id))
  }
  let isOfFirst
  let isOfIndex
  const bundle = await rolldown({
    input,
    platform: 'node',
    external,
    plugins: [
      {
        name: 'what imports what',
        moduleParsed: ({ id, importedIds }) => void imports.set(id, importedIds),
        renderStart() {
          isOfFirst = isOf('cli/main', 'thread')
          isOfIndex = isOf('index')
        },
      },
    ],
  })
  const { output } = await bundle.generate({
    format: 'esm',
    entryFileNames: '[name].js',
    // As stack traces name them.
    chunkFileNames: '[name].js',
    // A process that runs while its package is replaced may import a chunk of the other build: better an error than another function under the same letter.
    minifyInternalExports: false,
    codeSplitting: {
      groups: [
        { name: 'first', test: id => isOfIndex(id) && isOfFirst(id), priority: 1 },
        { name: 'core', test: id => isOfIndex(id) },
      ],
    },
  })
  await bundle.close()
  for (const { fileName, code } of output) {
    mkdirSync(dirname(join(dist, fileName)), { recursive: true })
    writeFileSync(join(dist, fileName), code)
  }
}
