// Puts into the package's code what would otherwise lie beside it or be installed along: whoever bundles an application loses files
// that are read, and packages bring more packages. Each module here stands in for the one of the sources that reads or imports.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { writeNotices } from './notices.mjs'
import { root } from './prepare.mjs'

const packageFile = () => JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))

/**
 * Node's own modules as `import`: a `require` of them in an ES module would be one that a second bundler cannot follow. What a module
 * is for `require` is its default export.
 */
const importedBuiltins = {
  name: 'imported builtins',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(assert|dgram|dns|fs|net|os|process|util)$/ }, ({ path, kind }) =>
      kind === 'require-call' ? { path, namespace: 'required' } : { path: `node:${path}`, external: true },
    )
    onLoad({ filter: /./, namespace: 'required' }, ({ path }) => ({
      contents: `module.exports = require('imported:${path}').default`,
    }))
    onResolve({ filter: /^imported:/ }, ({ path }) => ({ path: path.slice('imported:'.length), namespace: 'imported' }))
    onLoad({ filter: /./, namespace: 'imported' }, ({ path }) => ({ contents: `export { default } from '${path}'` }))
  },
}

/** What is tried and done without: an addon for sockets on paths, which hot-shots is not asked for here, and colours of `debug`. */
const withoutExtras = {
  name: 'without extras',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(unix-dgram|supports-color)$/ }, ({ path }) => ({ path, namespace: 'none' }))
    onLoad({ filter: /./, namespace: 'none' }, () => ({ contents: '' }))
  },
}

const bundled = async options => {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    bundle: true,
    platform: 'node',
    target: 'node20.19',
    legalComments: 'none',
    write: false,
    metafile: true,
    logLevel: 'warning',
    ...options,
  })
  return { text: outputFiles[0].text, inputs: Object.keys(metafile.inputs) }
}

/** The functions of Redis, as a module in place of redis/library-sources.ts. */
export const embedLua = (luaFolder, dist) => {
  const names = readdirSync(luaFolder).filter(name => name.endsWith('.lua'))
  const texts = names.sort().map(name => [name.slice(0, -'.lua'.length), readFileSync(join(luaFolder, name), 'utf8')])
  const code = `const texts = ${JSON.stringify(Object.fromEntries(texts), null, 1)}\nexport const luaSource = name => texts[name]\n`
  writeFileSync(join(dist, 'redis/library-sources.js'), code)
}

/** The Redis in memory, as a module in place of testing/redis/engine-source.ts. */
const embedEngine = async dist => {
  const { engineText } = await import(join(dist, 'testing/redis/engine-source.js'))
  const code = `const text = ${JSON.stringify(engineText())}\nexport const engineText = () => text\n`
  writeFileSync(join(dist, 'testing/redis/engine-source.js'), code)
}

export const embed = async dist => {
  embedLua(join(root, 'src/queue/lua'), dist)
  await embedEngine(dist)
  writeFileSync(join(dist, 'wire/version.js'), `export const version = ${JSON.stringify(packageFile().version)}\n`)

  // Beside the ioredis that is installed: a thread shares no module with its process, and whoever bundles has that only inside the bundle.
  const thread = await bundled({
    entryPoints: ['src/worker/roles/keepalive-thread.mjs'],
    format: 'cjs',
    minify: true,
    keepNames: true,
    plugins: [withoutExtras],
  })
  const program = `export const keepaliveProgram = ${JSON.stringify(thread.text)}\n`
  writeFileSync(join(dist, 'worker/keepalive-program.js'), program)

  const statsd = await bundled({
    // What is required is run when it is first wanted.
    stdin: {
      contents: "export const openStatsd = options => new (require('hot-shots').StatsD)(options)",
      resolveDir: root,
    },
    format: 'esm',
    plugins: [importedBuiltins, withoutExtras],
  })
  writeFileSync(join(dist, 'outlets/statsd/hot-shots.js'), statsd.text)
  writeNotices(dist, [...thread.inputs, ...statsd.inputs])
}
