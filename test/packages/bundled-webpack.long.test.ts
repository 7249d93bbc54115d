import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import webpack, { type Configuration } from 'webpack'
import { useBundles } from '../support/bundles.ts'

const bundles = useBundles()

const bundled = async (ending: string, configuration: Configuration) => {
  const target = bundles.target()
  const stats = await new Promise<webpack.Stats | undefined>((resolve, reject) => {
    const options: Configuration = {
      mode: 'production',
      // What it takes most of its time for.
      optimization: { minimize: false },
      target: 'node20.19',
      context: bundles.sources,
      entry: { worker: './worker.mjs', caller: './caller.mjs' },
      ...configuration,
      output: { path: target, filename: `[name]${ending}`, ...configuration.output },
    }
    webpack(options, (error, result) => (error ? reject(error) : resolve(result)))
  })
  const { errors = [], warnings = [] } = stats!.toJson({ all: false, errors: true, warnings: true })
  // The package debug, of ioredis, tries that one.
  const isOurs = ({ message = '' }) => !message.includes("Can't resolve 'supports-color'")
  expect([...errors, ...warnings].filter(isOurs).map(({ message }) => message)).toEqual([])
  return (name: string) => join(target, `${name}${ending}`)
}

const kinds: [string, string, Configuration][] = [
  ['an ES module', '.mjs', { experiments: { outputModule: true }, output: { module: true, chunkFormat: 'module' } }],
  ['CommonJS', '.cjs', { output: { chunkFormat: 'commonjs' } }],
]

describe.each(kinds)('bundled by webpack as %s', (_, ending, configuration) => {
  it('calls and serves, keeps leases and sends metrics', { timeout: 120_000 }, async () => {
    const file = await bundled(ending, configuration)
    await bundles.serveAndCall(file('worker'), file('caller'))
  })
})
