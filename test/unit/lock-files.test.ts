import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { root } from '../../tools/prepare.mjs'

type Names = Record<string, string>

interface Entry {
  version?: string
  resolved?: string
  extraneous?: boolean
  /** A folder of this repository. */
  link?: boolean
  dependencies?: Names
  devDependencies?: Names
  optionalDependencies?: Names
  peerDependencies?: Names
  peerDependenciesMeta?: Record<string, { optional?: boolean }>
}

const read = (...path: string[]) => JSON.parse(readFileSync(join(root, ...path), 'utf8'))

/** Where Node would find `name` from the package in `folder`: in its own node_modules, or in one further up. */
const found = (packages: Record<string, Entry>, folder: string, name: string): Entry | undefined => {
  for (let at = folder; ; at = at.slice(0, Math.max(0, at.lastIndexOf('node_modules/') - 1))) {
    const entry = packages[`${at === '' ? '' : `${at}/`}node_modules/${name}`]
    if (entry?.link) return packages[entry.resolved!]
    if (entry || at === '') return entry
  }
}

/** What a package needs; peers that it can do without are not in lock files. */
const neededBy = ({ peerDependenciesMeta, ...entry }: Entry): string[] => [
  ...Object.keys({ ...entry.dependencies, ...entry.devDependencies, ...entry.optionalDependencies }),
  ...Object.keys(entry.peerDependencies ?? {}).filter(name => peerDependenciesMeta?.[name]?.optional !== true),
]

// What `npm ci` refuses in a fresh clone, seen without asking a registry.
describe.each(['.', 'bench', 'tools/reference'])('the lock file in %s', folder => {
  const packages: Record<string, Entry> = read(folder, 'package-lock.json').packages

  it('has a version of everything that is needed, also of what only other platforms need', () => {
    const missing = Object.entries(packages).flatMap(([path, entry]) =>
      neededBy(entry)
        .filter(name => !found(packages, path, name)?.version)
        .map(name => `${name}, needed by ${path}`),
    )
    expect(missing).toEqual([])
  })

  it('is of its package.json, and has nothing that nobody needs', () => {
    const { dependencies, devDependencies } = read(folder, 'package.json')
    expect([packages['']!.dependencies, packages['']!.devDependencies]).toEqual([dependencies, devDependencies])
    expect(Object.keys(packages).filter(path => packages[path]!.extraneous)).toEqual([])
  })

  it('names no registry', () => {
    expect(
      Object.keys(packages).filter(path => packages[path]!.resolved !== undefined && !packages[path]!.link),
    ).toEqual([])
  })
})
