import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { version as built } from '../../src/wire/version.ts'
import { root } from '../../tools/prepare.mjs'

const text = (...path: string[]) => readFileSync(join(root, ...path), 'utf8')
const [pshub, registry] = [JSON.parse(text('package.json')), JSON.parse(text('registry/package.json'))]

/** The file of a client that states its version, wherever it lies in there. */
const stated = (folder: string, file: RegExp, version: RegExp): string | undefined => {
  const names = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
  const found = names.filter(name => file.test(name) && !/node_modules|\.venv|build\//.test(name))
  expect(found).toHaveLength(1)
  return version.exec(text(folder, found[0]!))?.[1]
}

describe('all packages are released with one version', () => {
  const { version } = pshub

  it.each([
    ['pshub at run time', () => built],
    ['pshub-registry', () => registry.version],
    ['the pshub that pshub-registry is for', () => registry.peerDependencies.pshub],
    ['the Python distribution', () => stated('clients/python/src', /(^|\/)version\.py$/, /version\w* = ["'](.+)["']/i)],
    ['the Ruby gem', () => stated('clients/ruby/lib', /(^|\/)version\.rb$/, /VERSION = ["'](.+)["']/)],
    ['CHANGELOG.md', () => /^## (\S+)/m.exec(text('CHANGELOG.md'))?.[1]],
  ])('%s', (_, stands) => {
    expect(stands()).toBe(version)
  })

  it('and under one licence, which is in each', () => {
    for (const folder of ['registry', 'clients/python']) expect(text(folder, 'LICENSE')).toBe(text('LICENSE'))
    expect(registry.license).toBe(pshub.license)
  })
})
