// What runs in Redis, and the Redis in memory of their tests, as one file each, into the packages of other languages.
import { writeFileSync } from 'node:fs'
import { libraryCopies, memoryCopies } from './prepare.mjs'

export const writeLibrary = async () => {
  const { libraryText } = await import(new URL('../dist/redis/library.js', import.meta.url))
  for (const file of libraryCopies) writeFileSync(file, libraryText())
  const { engineText } = await import(new URL('../dist/testing/redis/engine-source.js', import.meta.url))
  for (const file of memoryCopies) writeFileSync(file, engineText())
}
