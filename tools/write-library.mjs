// What runs in Redis, and the Redis in memory of their tests, as one file each, into the packages of other languages.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { libraryCopies, memoryCopies, root } from './prepare.mjs'

/** Parts of the Redis in memory, each of which knows those before it. */
const memoryParts = [
  'values',
  'keyspace',
  'commands-of-keys',
  'commands-of-lists',
  'commands-of-hashes',
  'commands-of-sorted-sets',
  'json',
  'functions',
  'server',
  'looking',
]

export const memoryText = () =>
  [
    '-- The Redis in memory of pshub.testing. Made of clients/memory.\n',
    ...memoryParts.map(name => readFileSync(join(root, 'clients/memory', `${name}.lua`), 'utf8')),
  ].join('\n')

export const writeLibrary = async () => {
  const { libraryText } = await import(new URL('../dist/redis/library.js', import.meta.url))
  for (const file of libraryCopies) writeFileSync(file, libraryText())
  for (const file of memoryCopies) writeFileSync(file, memoryText())
}
