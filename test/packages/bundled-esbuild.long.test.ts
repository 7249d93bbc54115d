import { join } from 'node:path'
import { type BuildOptions, build } from 'esbuild'
import { describe, expect, it } from 'vitest'
import { useBundles } from '../support/bundles.ts'

const bundles = useBundles()

/** Each of the application's programs as one file, in a folder without packages. */
const bundled = async (ending: string, options: BuildOptions) => {
  const target = bundles.target()
  const { warnings } = await build({
    absWorkingDir: bundles.sources,
    entryPoints: ['worker.mjs', 'caller.mjs', 'threads.mjs'],
    bundle: true,
    platform: 'node',
    outdir: target,
    outExtension: { '.js': ending },
    logLevel: 'silent',
    ...options,
  })
  expect(warnings.map(({ text }) => text).filter(text => !text.includes('"import.meta" is not available'))).toEqual([])
  return (name: string) => join(target, `${name}${ending}`)
}

/** What every package that is CommonJS wants of an ES module that esbuild made of it; docs/calling.md has it. */
const require = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"
const kinds: [string, string, BuildOptions][] = [
  ['an ES module', '.mjs', { format: 'esm', banner: { js: require } }],
  ['CommonJS', '.cjs', { format: 'cjs', minify: true }],
]

describe.each(kinds)('bundled by esbuild as %s', (_, ending, options) => {
  it('calls and serves, keeps leases and sends metrics', { timeout: 60_000 }, async () => {
    const file = await bundled(ending, options)
    await bundles.serveAndCall(file('worker'), file('caller'))
    expect(await bundles.run(file('threads'))).toMatch(
      /^ConfigError: far:1\.0 has threads, .* piscina is not installed .*: keep pshub out of the bundle \(esbuild --external:pshub/,
    )
  })
})
